import { jsonOf } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import { listOf, type Scripts, scriptsBeside } from '../redis/scripts.ts';
import type { Replicas } from './replicas.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['publish-profiles'] });

/** Commands that are embedded in the instructions of a skill, to be replaced by their output. */
export interface EmbeddedCommands {
  /** As their author wrote them, without arguments. */
  texts: readonly string[];
  /** Whether `$0` or `$1` is the first argument. */
  first: 0 | 1;
}

/** What an agent or an active skill adds to a session. */
export interface WorkProfile {
  /** Markdown, for the system prompt. */
  instructions: string;
  model?: string | undefined;
  /** Qualified names, `x*` for all that begin with x; absent = all. */
  tools?: readonly string[] | undefined;
  /** The only tenants that may use it; absent = all. */
  tenants?: readonly string[] | undefined;
  /** Of a skill: the version of its folder, for sessions with a workspace (libs/workspaces). */
  files?: string | undefined;
  /** Of a skill: for sessions with a workspace and a shell. */
  commands?: EmbeddedCommands | undefined;
}

/** The files of a skill. */
export interface SkillFiles {
  name: string;
  version: string;
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
  /** Digest of the skills that are published now; undefined = none ever were. Throws `unavailable`. */
  skillsDigest(): Promise<string | undefined>;
  /** Files of the skills that are published now. Throws `unavailable`. */
  skillFiles(): Promise<SkillFiles[]>;
  /** The embedded commands of a skill that is published now; undefined = there are none. Throws `unavailable`. */
  skillCommands(name: string): Promise<EmbeddedCommands | undefined>;
}

const filesOf = (profiles: ProfileFolder['profiles']): string[] =>
  [...profiles].flatMap(([name, { files: version, tenants }]) =>
    version === undefined ? [] : [name, jsonOf({ version, tenants })],
  );

/** `replicas` identifies this gateway. */
export function createProfiles({
  scripts,
  replicas,
  redis,
  keys,
}: {
  scripts: Scripts;
  replicas: Replicas;
  redis: Redis;
  keys: Keys;
}): Profiles {
  return {
    skillsDigest: async () =>
      (await reached(redis.hget(keys.of('folders', 'skills'), 'published'))) ?? undefined,
    async skillFiles() {
      const found: Record<string, string> = await reached(redis.hgetall(keys.of('profiles', 'skill-files')));
      return Object.entries(found).map(([name, text]) => ({
        name,
        ...(JSON.parse(text) as Omit<SkillFiles, 'name'>),
      }));
    },
    async skillCommands(name) {
      const text = await reached(redis.hget(keys.of('profiles', 'skills'), name));
      return text === null ? undefined : (JSON.parse(text) as WorkProfile).commands;
    },
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
        answer = await offer({ since: answer.since, profiles: fields, files: filesOf(profiles) });
      }
      return { since: answer.since, others: listOf(answer.others) };
    },
  };
}
