import type { Dispatch, IssuedKey } from '@harness/dispatch';
import { untilReached } from '@harness/dispatch';
import type { Logger } from '@harness/runtime';
import type { ApiKey } from './api-keys.ts';

/** The keys that the API has made, as this gateway knows them. */
export interface FollowedKeys {
  current(): readonly ApiKey[];
  /** Calls the listener after each change. */
  onChange(listener: () => void): void;
  /** Reads a tenant's keys now, so that a change by this gateway takes effect here before its response. Throws `unavailable`. */
  refresh(tenant: string): Promise<void>;
  close(): void;
}

/**
 * Follows the keys in Redis: each change is signalled, and all are read again after signals may have been missed. While
 * Redis is unavailable, the keys read last stay valid. Throws `unavailable` if they cannot be read at the start.
 */
export async function followIssuedKeys(deps: {
  dispatch: Pick<Dispatch, 'issuedKeys' | 'replicas'>;
  logger: Pick<Logger, 'error'>;
}): Promise<FollowedKeys> {
  const { issuedKeys, replicas } = deps.dispatch;
  const byTenant = new Map<string, readonly ApiKey[]>();
  const listeners: (() => void)[] = [];
  let closed = false;
  let all: readonly ApiKey[] = [];

  const set = (tenant: string, keys: readonly IssuedKey[]) => {
    if (keys.length > 0) byTenant.set(tenant, keys.map(keyOf));
    else byTenant.delete(tenant);
  };
  const notify = () => {
    all = [...byTenant.values()].flat();
    for (const listener of listeners) listener();
  };
  const refresh = async (tenant: string) => {
    set(tenant, await issuedKeys.of(tenant));
    notify();
  };
  const readAll = async () => {
    const tenants = new Set([...(await issuedKeys.tenants()), ...byTenant.keys()]);
    for (const tenant of tenants) set(tenant, await issuedKeys.of(tenant));
    notify();
  };
  /** One reading at a time: an older answer must not replace a newer one. */
  let reading: Promise<void> = Promise.resolve();
  const readAgain = (read: () => Promise<void>) => {
    reading = reading
      .then(() => untilReached(read, () => closed))
      .catch((error) => {
        if (!closed) deps.logger.error({ err: error }, 'API keys of Redis not read');
      });
  };
  const stop = replicas.onSignal((signal) => {
    if (signal.kind === 'keys_changed') readAgain(() => refresh(signal.tenant));
    if (signal.kind === 'missed') readAgain(readAll);
  });
  await readAll();
  return {
    current: () => all,
    onChange: (listener) => void listeners.push(listener),
    refresh,
    close() {
      closed = true;
      stop();
    },
  };
}

/** Scopes that this release does not know have no effect. */
const keyOf = ({ createdAt: _, createdBy: __, scopes, ...key }: IssuedKey): ApiKey => ({
  ...key,
  scopes: scopes as ApiKey['scopes'],
});
