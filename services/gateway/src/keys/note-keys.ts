import { type Dispatch, type NotedKey, untilReached } from '@harness/dispatch';
import type { Logger } from '@harness/runtime';
import { type ApiKey, fingerprintOf } from './api-keys.ts';
import type { KeyFile } from './key-file.ts';

const notedOf = (key: ApiKey): NotedKey => ({
  tenant: key.tenant,
  keyId: key.id,
  fingerprint: fingerprintOf(key),
});

/** Whether a key replaces an earlier one of the same id without a loss: the same secret, and no fewer rights. */
const givesAsMuch = (now: ApiKey, before: ApiKey): boolean =>
  now.tenant === before.tenant &&
  now.id === before.id &&
  now.keySha256 === before.keySha256 &&
  before.scopes.every((scope) => now.scopes.includes(scope)) &&
  (now.tools === undefined || before.tools?.every((tool) => now.tools?.includes(tool)) === true);

/**
 * Records the gateway's keys in Redis, now and after each change of the file: mail of a key that was removed, replaced or
 * restricted loses its rights. Retries until Redis has each record. Returns the function that stops this.
 */
export async function noteKeys(deps: {
  dispatch: Pick<Dispatch, 'keyRights' | 'replicas'>;
  keys: readonly ApiKey[];
  keyFile: KeyFile | undefined;
  logger: Pick<Logger, 'error'>;
}): Promise<() => void> {
  const { dispatch, keyFile, logger } = deps;
  const currentKeys = () => [...deps.keys, ...(keyFile?.current() ?? [])];
  let current = currentKeys();
  let stopped = false;
  const note = (revoked: readonly ApiKey[], isFirst: boolean) => {
    const keys = { known: current.map(notedOf), revoked: revoked.map(notedOf), isFirst };
    return untilReached(
      () => dispatch.keyRights.note(keys),
      () => stopped,
    );
  };
  await note([], await dispatch.replicas.isAlone());
  keyFile?.onChange(() => {
    const before = current;
    current = currentKeys();
    const revoked = before.filter((key) => !current.some((now) => givesAsMuch(now, key)));
    note(revoked, false).catch((error) =>
      logger.error(
        { err: error },
        'API keys: a revocation was not recorded in Redis; mail of the keys keeps its rights',
      ),
    );
  });
  return () => {
    stopped = true;
  };
}
