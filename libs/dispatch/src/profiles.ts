import { jsonOf } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Keys } from './keys.ts';
import { reached } from './reached.ts';

/** What an agent or an active skill makes of a session. */
export interface WorkProfile {
  /** Markdown, for the system prompt. */
  instructions: string;
  model?: string | undefined;
  /** Qualified names, `x*` for all that begin with x; absent = all. */
  tools?: readonly string[] | undefined;
}

/** Agents and skills as a gateway read them last: workers need not have their folders. */
export interface Profiles {
  /** In place of all that were known of this kind. */
  publish(kind: 'agents' | 'skills', profiles: ReadonlyMap<string, WorkProfile>): Promise<void>;
}

export function createProfiles({ redis, keys }: { redis: Redis; keys: Keys }): Profiles {
  return {
    async publish(kind, profiles) {
      const key = keys.of('profiles', kind);
      const transaction = redis.multi().del(key);
      const fields = [...profiles].flatMap(([name, profile]) => [name, jsonOf(profile)]);
      if (fields.length > 0) transaction.hset(key, ...fields);
      await reached(transaction.exec());
    },
  };
}
