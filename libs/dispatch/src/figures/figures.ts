/**
 * Totals of the whole fleet. Each worker adds what it has counted about once a second, so a total outlives the
 * processes that counted it and never falls; a process that is killed loses what it has not sent yet.
 *
 * This folder:
 *   add-figures.lua   script: adds a batch
 *   counters.ts       totals that other scripts keep, and the present state
 *   promises.ts       reads the latest threads back and checks their order; read-order.lua
 */
import {
  type Durations,
  durationBuckets,
  type ModelUse,
  RunPhase as Phase,
  type RunPhase,
} from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['add-figures'] });

/** What is measured by duration: the phases of runs by session path, and fail-overs. */
export type Measured = `${RunPhase}:${string}` | 'failover';

/** Totals of the fleet. Every method throws `unavailable`. */
export interface Figures {
  /** Adds a batch; a repeat of the latest batch of the process is not added again. */
  add(from: { process: string; batch: string }, counted: Counted): Promise<void>;
  read(): Promise<FleetTotals>;
  /** Deletes what recognizes repeated batches of a process that ends. */
  forget(process: string): Promise<void>;
}

/** What a process has counted since its previous batch. */
export interface Counted {
  totals: Record<string, number>;
  uses: ModelUse[];
}

/** Totals since the first start of the installation. */
export interface FleetTotals {
  phases: { phase: RunPhase; path: string; durations: Durations }[];
  failOvers: Durations;
  /** Turns after the first one of their thread, by session path. */
  followUps: Record<string, number>;
  uses: ModelUse[];
  sessionsEvicted: number;
  transcriptErrors: number;
}

/** Most combinations of model, agent and tenant. */
const maxUses = 500;
const useFields = ['requests', 'inputTokens', 'outputTokens', 'costUsd'] as const;

/** The field of `totals` that counts a duration: its bucket, `inf` beyond the last one. */
export function durationFields(measured: Measured, seconds: number): Record<string, number> {
  const bucket = durationBuckets.findIndex((le) => seconds <= le);
  return { [`${measured}:${bucket === -1 ? 'inf' : bucket}`]: 1, [`${measured}:sum`]: seconds };
}

/** Creates the totals. */
export function createFigures({
  redis,
  keys,
  scripts,
}: {
  redis: Redis;
  keys: Keys;
  scripts: Scripts;
}): Figures {
  return {
    async add({ process, batch }, { totals, uses }) {
      await scripts.call(lua['add-figures'], {
        process,
        batch,
        totals,
        uses: uses.map(({ model, agent, tenant, ...fields }) => ({
          name: JSON.stringify([model, agent, tenant]),
          fields,
        })),
        other: JSON.stringify(['other', 'other', 'other']),
        maxFields: maxUses * useFields.length,
      });
    },
    async forget(process) {
      await reached(redis.del(keys.of('figbatch', process)));
    },
    async read() {
      const [totals, uses] = await Promise.all([
        reached(redis.hgetall(keys.one('figures'))),
        reached(redis.hgetall(keys.one('uses'))),
      ]);
      const of = (field: string) => Number(totals[field] ?? 0);
      const paths = [...new Set(Object.keys(totals).map((field) => /^total:([a-z]+):/.exec(field)?.[1]))];
      return {
        phases: paths
          .filter((path) => path !== undefined)
          .flatMap((path) =>
            Phase.options.map((phase) => ({ phase, path, durations: durationsOf(`${phase}:${path}`, of) })),
          ),
        failOvers: durationsOf('failover', of),
        followUps: Object.fromEntries(
          Object.entries(totals).flatMap(([field, count]) =>
            field.startsWith('followups:') ? [[field.slice('followups:'.length), Number(count)]] : [],
          ),
        ),
        uses: usesOf(uses),
        sessionsEvicted: of('evicted'),
        transcriptErrors: of('transcriptErrors'),
      };
    },
  };
}

/** Adds up histograms of the same buckets. */
export function sumOfDurations(list: readonly Durations[]): Durations {
  const sum = (of: (one: Durations) => number) => list.reduce((total, one) => total + of(one), 0);
  return {
    count: sum(({ count }) => count),
    sum: sum((one) => one.sum),
    buckets: durationBuckets.map((le, i) => ({ le, count: sum(({ buckets }) => buckets[i]?.count ?? 0) })),
  };
}

function durationsOf(measured: Measured, of: (field: string) => number): Durations {
  let count = 0;
  const buckets = durationBuckets.map((le, i) => {
    count += of(`${measured}:${i}`);
    return { le, count };
  });
  return { count: count + of(`${measured}:inf`), sum: of(`${measured}:sum`), buckets };
}

function usesOf(fields: Record<string, string>): ModelUse[] {
  const uses = new Map<string, ModelUse>();
  for (const [field, value] of Object.entries(fields)) {
    const end = field.lastIndexOf(':');
    const name = field.slice(0, end);
    const [model, agent, tenant] = JSON.parse(name) as [string, string, string];
    const use = uses.get(name) ?? {
      model,
      agent,
      tenant,
      requests: 0,
      inputTokens: 0,
      outputTokens: 0,
      costUsd: 0,
    };
    uses.set(name, { ...use, [field.slice(end + 1)]: Number(value) });
  }
  return [...uses.values()];
}
