import { type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { confirmed: ['revoke'] });

/** A key of a tenant. */
export interface KeyName {
  tenant: string;
  keyId: string;
}

/** Ends the rights that messages of revoked keys carry. */
export interface KeyRights {
  /**
   * Notes the keys that exist and those that were revoked. Runs of a revoked key begin without tools, and one that is in
   * progress loses them. `isFirst`: no other gateway runs, so keys that were noted before and are not known now were
   * revoked. Throws `unavailable`.
   */
  note(keys: { known: readonly KeyName[]; revoked: readonly KeyName[]; isFirst?: boolean }): Promise<void>;
}

const idOf = ({ tenant, keyId }: KeyName) => `${tenant}/${keyId}`;

/** Creates it on Redis. */
export const createKeyRights = ({ scripts }: { scripts: Scripts }): KeyRights => ({
  async note({ known, revoked, isFirst = false }) {
    const args = { known: known.map(idOf), revoked: revoked.map(idOf), isFirst };
    await scripts.call(lua.revoke, args);
  },
});
