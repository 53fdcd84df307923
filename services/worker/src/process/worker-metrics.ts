import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ObservedTurn } from './observe-turn.ts';

/** The current numbers of a worker's sessions. */
export interface SessionCounts {
  /** Sessions in the pool, busy or idle. */
  sessions: number;
  /** Of these, those in a turn. */
  busy: number;
  /** Spares in stock. */
  spares: number;
  maxSessions: number;
  /** Totals since the start of the process. */
  evicted: number;
  transcriptErrors: number;
}

/** The metrics of this worker, for Prometheus. Counters start at 0 with the process. */
export interface WorkerMetrics {
  contentType: string;
  text(): Promise<string>;
  /** Adds the metrics of sessions, read at each scrape. */
  countSessions(read: () => SessionCounts): void;
  turnEnded(seen: Pick<ObservedTurn, 'attempt' | 'outcome' | 'path' | 'timings' | 'usage'>): void;
  /** How sessions with a workspace are enclosed. */
  nameSandbox(level: string): void;
  /** A probe write to Redis succeeded after this time. */
  redisWritten(seconds: number): void;
  /** Counts an uncaught error, after which the worker exits. */
  escaped(): void;
}

/** Seconds: from the first token of a warm session to a turn of ten minutes. */
const runBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const redisBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1];
/** Highest attempt number used as a label; higher ones are counted as this one. */
const maxAttemptLabel = 9;

/** Creates the metrics in a registry of their own. */
export function createWorkerMetrics(): WorkerMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const turns = new Counter({
    name: 'harness_worker_turns_total',
    help: 'Attempts at runs that ended here, by outcome and by how they got their session',
    labelNames: ['outcome', 'path'],
    registers,
  });
  const attempts = new Counter({
    name: 'harness_worker_attempts_total',
    help: 'Attempts that ended here, by attempt number: above 1, an earlier attempt ended with its process',
    labelNames: ['attempt'],
    registers,
  });
  const latency = new Histogram({
    name: 'harness_worker_run_seconds',
    help: 'Duration of the phases of a run: in the mailbox (queued), until the session is ready (session), from the prompt to the first event (first_token), from the start of the turn to its end (total)',
    labelNames: ['phase'],
    buckets: runBuckets,
    registers,
  });
  const tokens = new Counter({
    name: 'harness_worker_tokens_total',
    help: 'Tokens of the model, as reported by the Agent SDK',
    labelNames: ['direction'],
    registers,
  });
  const cost = new Counter({
    name: 'harness_worker_cost_usd_total',
    help: 'Cost of runs in US dollars, as estimated by the Agent SDK',
    registers,
  });
  const redis = new Histogram({
    name: 'harness_redis_write_seconds',
    help: 'Duration of a small write to Redis, made every second',
    buckets: redisBuckets,
    registers,
  });
  const sandbox = new Gauge({
    name: 'harness_worker_sandbox',
    help: '1 at the level at which sessions with a workspace are enclosed: bubblewrap, bubblewrap-bound-proc (no /proc of its own), none (workspaces are refused), off',
    labelNames: ['level'],
    registers,
  });
  const escapes = new Counter({
    name: 'harness_worker_escapes_total',
    help: 'ALARM: uncaught errors, after which the worker exits',
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
    nameSandbox: (level) => sandbox.set({ level }, 1),
    redisWritten: (seconds) => redis.observe(seconds),
    escaped: () => escapes.inc(),
  };
}

function addSessionMetrics(registry: Registry, read: () => SessionCounts): void {
  const registers = [registry];
  new Gauge({
    name: 'harness_worker_sessions',
    help: 'Agent processes by state',
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
    help: 'Limit of sessions and of concurrent turns: HARNESS_MAX_SESSIONS, or fewer while memory is short',
    registers,
    collect() {
      this.set(read().maxSessions);
    },
  });
  /** A counter whose total is kept elsewhere. */
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
    'Sessions ended to free a slot or after the idle time',
    ({ evicted }) => evicted,
  );
  total(
    'harness_worker_transcript_errors_total',
    'ALARM when it rises: a transcript could not be written; that thread stays on this worker until it is',
    ({ transcriptErrors }) => transcriptErrors,
  );
}
