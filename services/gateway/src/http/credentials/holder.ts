import type { Principal } from '@harness/plugin-kit';
import { accessKeyPrefix } from '../../oauth/access-tokens.ts';

/** A caller's rights, and when they end. */
interface Rights {
  principal: Principal;
  tools?: readonly string[] | undefined;
  endsAt?: number | undefined;
  fingerprint?: string;
}

/**
 * The credential that a stream ticket or a session of the console represents: a key by its name and fingerprint, so that
 * both end when the key is revoked or changed, or an access token with its rights.
 */
export type Holder =
  | { kind: 'key'; tenant: string; keyId: string; fingerprint: string | undefined }
  | { kind: 'token'; caller: Rights }
  | { kind: 'local' };

/** The holder for the tickets and console sessions that a caller makes. */
export function holderOf({ principal, tools, endsAt, fingerprint }: Rights, isLocal: boolean): Holder {
  const { tenant, keyId } = principal;
  if (isLocal) return { kind: 'local' };
  return keyId.startsWith(accessKeyPrefix)
    ? { kind: 'token', caller: { principal, tools, endsAt } }
    : { kind: 'key', tenant, keyId, fingerprint };
}

/** The name by which a holder's tickets and sessions are counted. */
export const nameOfHolder = (holder: Holder): string => {
  if (holder.kind === 'local') return 'local';
  const { tenant, keyId } = holder.kind === 'key' ? holder : holder.caller.principal;
  return `${tenant}/${keyId}`;
};
