import type { Logger } from '@harness/runtime';
import { type FollowedFile, followFile } from '../follow-file.ts';
import { type ApiKey, loadApiKeys } from './api-keys.ts';

/** The keys of a file that its owner may change at any time. */
export type KeyFile = FollowedFile<readonly ApiKey[]>;

/** Follows a key file. `keys` are those read at the start of the process. */
export function followKeyFile(
  file: string,
  { keys, logger }: { keys: readonly ApiKey[]; logger: Pick<Logger, 'info' | 'error'> },
): KeyFile {
  return followFile(file, {
    load: loadApiKeys,
    initial: keys,
    what: 'API keys',
    summaryOf: (current) => ({ keys: current.map(({ id }) => id) }),
    logger,
  });
}
