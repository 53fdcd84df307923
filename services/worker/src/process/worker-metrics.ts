import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { TurnSeen } from './turn-seen.ts';

/** What a worker can say of its sessions at any moment. */
export interface SessionCounts {
  /** Agent processes that hold a thread; of these, in a turn; and those held in stock for no thread yet. */
  sessions: number;
  busy: number;
  spares: number;
  maxSessions: number;
  /** Since its start. */
  evicted: number;
  transcriptErrors: number;
}

/** The metrics of this worker alone, for Prometheus. Counters start at 0 with the process, as Prometheus expects. */
export interface WorkerMetrics {
  contentType: string;
  text(): Promise<string>;
  /** From now on sessions are counted, at each reading. */
  countSessions(read: () => SessionCounts): void;
  turnEnded(seen: TurnSeen): void;
  /** Redis took a write after so many seconds. */
  redisWritten(seconds: number): void;
  /** Something escaped: the worker is about to end for it. */
  escaped(): void;
}

/** Seconds: from a warm session's first word to a turn of ten minutes. */
const runBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const redisBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1];
/** Attempts beyond this are counted as it: messages are parked after a few. */
const maxAttemptLabel = 9;

export function createWorkerMetrics(): WorkerMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const turns = new Counter({
    name: 'harness_worker_turns_total',
    help: 'Attempts at runs that ended here, by outcome and by how they came to their session',
    labelNames: ['outcome', 'path'],
    registers,
  });
  const attempts = new Counter({
    name: 'harness_worker_attempts_total',
    help: 'Attempts that ended here, by their number: beyond 1, an earlier one ended with its process',
    labelNames: ['attempt'],
    registers,
  });
  const latency = new Histogram({
    name: 'harness_worker_run_seconds',
    help: 'Of runs: in the mailbox (queued), until the session was there (session), from the prompt to the first event (first_token), from the begin of the turn to its end (total)',
    labelNames: ['phase'],
    buckets: runBuckets,
    registers,
  });
  const tokens = new Counter({
    name: 'harness_worker_tokens_total',
    help: 'Tokens of the model, as the Agent SDK tells them',
    labelNames: ['direction'],
    registers,
  });
  const cost = new Counter({
    name: 'harness_worker_cost_usd_total',
    help: 'Cost of runs in US dollars, as the Agent SDK estimates it',
    registers,
  });
  const redis = new Histogram({
    name: 'harness_redis_write_seconds',
    help: 'One small write to Redis, made every second',
    buckets: redisBuckets,
    registers,
  });
  const escapes = new Counter({
    name: 'harness_worker_escapes_total',
    help: 'ALARM: errors that nobody caught; the worker ends for them',
    registers,
  });

  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    countSessions: (read) => addSessionMetrics(registry, read),
    turnEnded({ attempt, outcome, path, timings, usage }) {
      turns.inc({ outcome: outcome.replaceAll(' ', '_'), path });
      attempts.inc({ attempt: String(Math.min(attempt, maxAttemptLabel)) });
      if (timings) {
        const { queuedMs, sessionMs, firstTokenMs, totalMs } = timings;
        const phases = { queued: queuedMs, session: sessionMs, first_token: firstTokenMs, total: totalMs };
        for (const [phase, ms] of Object.entries(phases))
          if (ms !== null) latency.observe({ phase }, ms / 1000);
      }
      if (usage) {
        tokens.inc({ direction: 'input' }, usage.inputTokens);
        tokens.inc({ direction: 'output' }, usage.outputTokens);
        cost.inc(usage.costUsd ?? 0);
      }
    },
    redisWritten: (seconds) => redis.observe(seconds),
    escaped: () => escapes.inc(),
  };
}

function addSessionMetrics(registry: Registry, read: () => SessionCounts): void {
  const registers = [registry];
  new Gauge({
    name: 'harness_worker_sessions',
    help: 'Agent processes, by what they do',
    labelNames: ['state'],
    registers,
    collect() {
      const { sessions, busy, spares } = read();
      this.set({ state: 'busy' }, busy);
      this.set({ state: 'idle' }, sessions - busy);
      this.set({ state: 'spare' }, spares);
    },
  });
  new Gauge({
    name: 'harness_worker_sessions_max',
    help: 'Sessions that there may be, and turns at once: HARNESS_MAX_SESSIONS, or fewer while memory is short',
    registers,
    collect() {
      this.set(read().maxSessions);
    },
  });
  /** A total that is counted elsewhere. */
  const total = (name: string, help: string, of: (counts: SessionCounts) => number) =>
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(of(read()));
      },
    });
  total(
    'harness_worker_sessions_evicted_total',
    'Sessions ended to make room or after the idle time',
    ({ evicted }) => evicted,
  );
  total(
    'harness_worker_transcript_errors_total',
    'ALARM when it rises: a transcript could not be written; that thread cannot move until it is whole',
    ({ transcriptErrors }) => transcriptErrors,
  );
}
