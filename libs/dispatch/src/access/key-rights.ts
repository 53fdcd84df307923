import { type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { confirmed: ['revoke'] });

/** A key of a tenant. */
export interface KeyName {
  tenant: string;
  keyId: string;
}

/** A key with a digest of its secret and its rights, which differs when they do. */
export interface NotedKey extends KeyName {
  fingerprint: string;
}

/** Ends the rights that messages of revoked keys carry. */
export interface KeyRights {
  /**
   * Records the keys that exist and those that were revoked. Runs of a revoked key begin without tools, and one that is in
   * progress loses them; messages of a later key with the same id keep their rights. `isFirst`: no other gateway runs, so
   * recorded keys that are unknown now, or differ, were revoked. Throws `unavailable`.
   */
  note(keys: { known: readonly NotedKey[]; revoked: readonly KeyName[]; isFirst?: boolean }): Promise<void>;
}

const idOf = ({ tenant, keyId }: KeyName) => `${tenant}/${keyId}`;

/** Creates the rights of keys on Redis. */
export const createKeyRights = ({ scripts }: { scripts: Scripts }): KeyRights => ({
  async note({ known, revoked, isFirst = false }) {
    const noted = Object.fromEntries(known.map((key) => [idOf(key), key.fingerprint]));
    const args = { known: noted, revoked: revoked.map(idOf), isFirst };
    await scripts.call(lua.revoke, args);
  },
});
