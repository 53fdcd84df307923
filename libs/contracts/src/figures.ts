import { z } from 'zod';

/** Phases of a run: in the mailbox, until the session is ready, from the prompt to the first event, the whole turn. */
export const RunPhase = z.enum(['queued', 'session', 'first_token', 'total']);
/** A phase of a run. */
export type RunPhase = z.infer<typeof RunPhase>;

const count = z.number().int();

/** Upper bounds of the histogram buckets of durations, s: from the first token of a warm session to a turn of ten minutes. */
export const durationBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600] as const;

/** A histogram of durations, s. */
export const Durations = z.object({
  count,
  sum: z.number(),
  buckets: z
    .array(z.object({ le: z.number(), count }))
    .describe(
      'Cumulative: how many lasted at most `le` seconds; those above the last one only count in `count`',
    ),
});
/** A histogram of durations. */
export type Durations = z.infer<typeof Durations>;

/** Use of one model by one agent of one tenant. */
export const ModelUse = z.object({
  model: z.string(),
  agent: z.string().describe('"": none'),
  tenant: z.string(),
  requests: count,
  inputTokens: count,
  outputTokens: count,
  costUsd: z.number().describe('As estimated by the Agent SDK'),
});
/** Use of one model. */
export type ModelUse = z.infer<typeof ModelUse>;

/** Figures of the whole fleet. Totals count from the first start and never fall; the rest is the present state. */
export const FleetFigures = z.object({
  at: z.iso.datetime(),
  workers: count,
  sessions: z.object({ busy: count, idle: count, spare: count, max: count }),
  pending: count.describe('Threads with unfinished mail'),
  oldestWaitingMs: z.number().describe('Age of the oldest message that waits for a worker; 0: none'),
  runs: z
    .array(z.object({ status: z.string(), path: z.string(), count }))
    .describe('Total of finished runs; path `none`: without a session'),
  phases: z.record(RunPhase, Durations).describe('Total of runs with a session, by phase'),
  models: z.array(ModelUse).describe('Total; what exceeds 500 combinations has the names "other"'),
  bus: z
    .object({
      queued: count,
      assigned: count,
      inProgress: count,
      blocked: count,
      dead: count,
      workers: count,
      workersPolling: count,
    })
    .describe('Tasks and external workers of all tenants'),
});
/** The figures of the fleet. */
export type FleetFigures = z.infer<typeof FleetFigures>;

/** What this installation promises, as measured in its own fleet. */
export const Promises = z.object({
  at: z.iso.datetime(),
  warmHits: z
    .object({ followUps: count, warm: count, rate: z.number() })
    .describe(
      'Turns after the first one of their thread, and how many found their session warm; rate 1 if none',
    ),
  failOvers: Durations.extend({ p50: z.number().nullable(), p95: z.number().nullable() }).describe(
    'Turns that another process continued: from the latest event of the thread to the begin of the next attempt, s; percentiles are estimates within a bucket; null: none, or above the last bucket',
  ),
  lost: z
    .object({ tornLog: count, failOverOfRedis: count })
    .describe('Accepted messages that Redis lost: with a torn append-only file; by a fail-over'),
  refused: z
    .object({ repeated: count, stale: count, outOfOrder: count })
    .describe(
      'Results that were refused: already stored; from a worker that no longer owns the thread; not of the next message',
    ),
  checked: z
    .object({ threads: count, runs: count, gaps: count, doubles: count, reorderings: count })
    .describe(
      'The latest runs of your latest 100 threads, read back: messages missing in between, messages with two results, results out of order. All should be 0',
    ),
});
/** What the harness promises, with the figures that were measured. */
export type Promises = z.infer<typeof Promises>;
