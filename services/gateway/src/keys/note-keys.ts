import { type Dispatch, type KeyName, untilReached } from '@harness/dispatch';
import type { Logger } from '@harness/runtime';
import type { ApiKey } from './api-keys.ts';
import type { KeyFile } from './key-file.ts';

const nameOf = ({ tenant, id }: ApiKey): KeyName => ({ tenant, keyId: id });
const same = (one: KeyName) => (other: KeyName) => one.tenant === other.tenant && one.keyId === other.keyId;

/**
 * Notes the gateway's keys for the fleet, now and after each change of the file: mail of a key that was taken out loses
 * its rights. Repeats each note until Redis takes it. Returns the function that stops it.
 */
export async function noteKeys(deps: {
  dispatch: Pick<Dispatch, 'keyRights' | 'replicas'>;
  keys: readonly ApiKey[];
  keyFile: KeyFile | undefined;
  logger: Pick<Logger, 'error'>;
}): Promise<() => void> {
  const { dispatch, keyFile, logger } = deps;
  const currentKeys = () => [...deps.keys, ...(keyFile?.current() ?? [])].map(nameOf);
  let known = currentKeys();
  let stopped = false;
  const note = (revoked: readonly KeyName[], isFirst: boolean) =>
    untilReached(
      () => dispatch.keyRights.note({ known, revoked, isFirst }),
      () => stopped,
    );
  await note([], await dispatch.replicas.isAlone());
  keyFile?.onChange(() => {
    const before = known;
    known = currentKeys();
    const revoked = before.filter((key) => !known.some(same(key)));
    note(revoked, false).catch((error) => logger.error({ err: error }, 'revoked keys not noted'));
  });
  return () => {
    stopped = true;
  };
}
