import { jsonOf } from '@harness/contracts';
import { listOf, type Scripts, scriptsBeside } from '../redis/scripts.ts';
import type { Replicas } from './replicas.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['publish-profiles'] });

/** What an agent or an active skill makes of a session. */
export interface WorkProfile {
  /** Markdown, for the system prompt. */
  instructions: string;
  model?: string | undefined;
  /** Qualified names, `x*` for all that begin with x; absent = all. */
  tools?: readonly string[] | undefined;
}

/** What a gateway read from its folder of agents or skills. */
export interface ProfileFolder {
  profiles: ReadonlyMap<string, WorkProfile>;
  /** The same for the same content, wherever it lies. */
  digest: string;
  /** Where it lies, for people: machine and folder. */
  place: string;
}

/** A living gateway whose folder has another content. */
export interface OtherFolder {
  /** Id of the gateway. */
  replica: string;
  digest: string;
  place: string;
  /** Sessions get what this one read. */
  isPublished: boolean;
}

/** How a gateway's folder stands among those of the other living gateways. */
export interface FolderStanding {
  /** Since when this gateway has this content, ms by Redis's clock; to be given with the next call. */
  since: number;
  /** Those with another content. */
  others: OtherFolder[];
}

/** Agents and skills as the gateways read them: workers need not have their folders. */
export interface Profiles {
  /**
   * Offers a folder, in place of what this gateway offered before. Where gateways have different folders, sessions get
   * that of the living gateway which started or read a change last. Without `since` it has just been read; with it, this
   * only looks whether it is still published, or now has to be. Throws `unavailable`.
   */
  publish(kind: 'agents' | 'skills', folder: ProfileFolder, since?: number): Promise<FolderStanding>;
}

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
      // Profiles may be large: they are sent only when they are to be written.
      if (answer.outcome === 'wanted') {
        const fields = [...profiles].flatMap(([name, profile]) => [name, jsonOf(profile)]);
        answer = await offer({ since: answer.since, profiles: fields });
      }
      return { since: answer.since, others: listOf(answer.others) };
    },
  };
}
