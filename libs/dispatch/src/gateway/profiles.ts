import { jsonOf } from '@harness/contracts';
import { listOf, type Scripts, scriptsBeside } from '../redis/scripts.ts';
import type { Replicas } from './replicas.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['publish-profiles'] });

/** What an agent or an active skill adds to a session. */
export interface WorkProfile {
  /** Markdown, for the system prompt. */
  instructions: string;
  model?: string | undefined;
  /** Qualified names, `x*` for all that begin with x; absent = all. */
  tools?: readonly string[] | undefined;
  /** The only tenants that may use it; absent = all. */
  tenants?: readonly string[] | undefined;
}

/** What a gateway read from its folder of agents or skills. */
export interface ProfileFolder {
  profiles: ReadonlyMap<string, WorkProfile>;
  /** Digest of the content, independent of where the folder is. */
  digest: string;
  /** Where the folder is, for people: machine and path. */
  place: string;
}

/** A live gateway whose folder has different content. */
export interface OtherFolder {
  /** Id of the gateway. */
  replica: string;
  digest: string;
  place: string;
  /** Sessions get the content of this gateway. */
  isPublished: boolean;
}

/** How a gateway's folder compares with those of the other live gateways. */
export interface FolderStanding {
  /** Since when this gateway has this content, ms by Redis's clock; pass it to the next call. */
  since: number;
  /** Live gateways with different content. */
  others: OtherFolder[];
}

/** Agents and skills as gateways read them: workers do not need the folders. */
export interface Profiles {
  /**
   * Offers a folder, replacing what this gateway offered before. Where gateways have different folders,
   * sessions get that of the live gateway that started or read a change last. Omit `since` after reading the
   * folder; with it, the call only checks whether the folder is still published, or must be now. Throws
   * `unavailable`.
   */
  publish(kind: 'agents' | 'skills', folder: ProfileFolder, since?: number): Promise<FolderStanding>;
}

/** `replicas` identifies this gateway. */
export function createProfiles({ scripts, replicas }: { scripts: Scripts; replicas: Replicas }): Profiles {
  return {
    async publish(kind, { profiles, digest, place }, since) {
      const offer = (more: object) =>
        scripts.call<{ outcome: string; since: number; others?: OtherFolder[] }>(lua['publish-profiles'], {
          kind,
          replica: replicas.id,
          digest,
          place,
          count: profiles.size,
          ...more,
        });
      let answer = await offer({ since });
      // Profiles may be large: they are sent only when they must be written.
      if (answer.outcome === 'wanted') {
        const fields = [...profiles].flatMap(([name, profile]) => [name, jsonOf(profile)]);
        answer = await offer({ since: answer.since, profiles: fields });
      }
      return { since: answer.since, others: listOf(answer.others) };
    },
  };
}
