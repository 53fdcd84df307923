/**
 * Metrics of the whole fleet, read from Redis at each scrape. One gateway reports them: the live one with the
 * lowest id. The others leave them out, so sum and max are the same.
 */
import { type Durations, SessionPath } from '@harness/contracts';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { RouteDeps } from '../app-deps.ts';
import { readFleet } from './read-fleet.ts';

/**
 * Registers the metrics. Returns the function that updates them; it throws `unavailable` while Redis is
 * unreachable.
 */
export function addFleetMetrics(
  registry: Registry,
  { dispatch }: Pick<RouteDeps, 'dispatch'>,
): () => Promise<void> {
  const metrics = registerFleetMetrics(registry);
  return async () => setFleetMetrics(metrics, await readFleet(dispatch));
}

const modelLabels = ['model', 'agent', 'tenant'];

function registerFleetMetrics(registry: Registry) {
  const registers = [registry];
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help, labelNames, registers });
  /** A counter whose total is kept elsewhere. */
  const total = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name, help, labelNames, registers });
  return {
    pending: gauge('harness_threads_pending', 'Threads with unfinished mail'),
    workers: gauge('harness_workers', 'Live workers'),
    sessions: gauge('harness_sessions', 'Agent processes by state', ['state']),
    sessionsMax: gauge('harness_sessions_max', 'Limit of agent processes of the live workers'),
    oldest: gauge(
      'harness_oldest_waiting_seconds',
      'Age of the oldest message that waits for a worker and not for its own thread; 0 if none does',
    ),
    runs: total('harness_runs_total', 'Finished runs, by status and by how they got their session', [
      'status',
      'path',
    ]),
    turns: total('harness_turns_total', 'Finished runs that got a session, by path', ['path']),
    followUps: total(
      'harness_follow_up_turns_total',
      'Turns after the first one of their thread, by path: the share of warm ones is the warm-hit rate',
      ['path'],
    ),
    evicted: total('harness_sessions_evicted_total', 'Sessions ended to free a slot or after the idle time'),
    transcriptErrors: total(
      'harness_transcript_errors_total',
      'ALARM when it rises: a transcript could not be written; that thread stays on its worker until it is',
    ),
    requests: total('harness_model_requests_total', 'Requests to models', modelLabels),
    tokens: total('harness_model_tokens_total', 'Tokens of models', [...modelLabels, 'direction']),
    cost: total(
      'harness_model_cost_usd_total',
      'Cost of models in US dollars, as estimated by the Agent SDK',
      modelLabels,
    ),
    busTasks: gauge('harness_bus_tasks', 'Tasks on the bus by state; dead ones need an operator', ['state']),
    busWorkers: gauge('harness_bus_workers', 'Known external workers'),
    busPolling: gauge('harness_bus_workers_polling', 'External workers that wait for a task'),
    gaps: total('harness_mail_gaps_total', 'ALARM: accepted mail lost with a torn log'),
    escapes: total(
      'harness_process_escapes_total',
      'ALARM: processes of the fleet that exited because of an uncaught error',
    ),
    dropped: total('harness_mail_dropped_total', 'System mail to deleted threads'),
    lostMail: total(
      'harness_mail_lost_total',
      'ALARM: accepted messages lost by a fail-over of Redis, as far as the accepting gateways know',
    ),
    redisChanges: total(
      'harness_redis_changes_total',
      'Changes of the Redis instance, by a fail-over or a restart',
    ),
    refused: total(
      'harness_results_refused_total',
      'Results that were refused: already stored, of a worker that lost the thread, or out of order',
      ['why'],
    ),
    phases: histogram(registry, {
      name: 'harness_run_seconds',
      help: 'Duration of the phases of runs by session path: queued, session, first_token, total',
    }),
    failOvers: histogram(registry, {
      name: 'harness_failover_seconds',
      help: 'From the last event of an interrupted turn until another process continues it',
    }),
  };
}

function setFleetMetrics(
  metrics: ReturnType<typeof registerFleetMetrics>,
  { counters, totals, bus, sessions: counts, ...fleet }: Awaited<ReturnType<typeof readFleet>>,
): void {
  const { max, ...byState } = counts;
  metrics.pending.set(counters.pending);
  metrics.workers.set(fleet.workers);
  setAll(metrics.sessions, 'state', byState);
  metrics.sessionsMax.set(max);
  metrics.oldest.set(counters.oldestWaitingMs / 1000);
  const { runs, turns, followUps, requests, tokens, cost, refused } = metrics;
  for (const counter of [runs, turns, followUps, requests, tokens, cost, refused]) counter.reset();
  for (const { status, path, count } of counters.runs) runs.inc({ status, path }, count);
  for (const path of SessionPath.options) {
    turns.inc(
      { path },
      sumOf(counters.runs, (run) => (run.path === path ? run.count : 0)),
    );
    followUps.inc({ path }, totals.followUps[path] ?? 0);
  }
  for (const { inputTokens, outputTokens, costUsd, requests: count, ...labels } of totals.uses) {
    requests.inc(labels, count);
    tokens.inc({ ...labels, direction: 'input' }, inputTokens);
    tokens.inc({ ...labels, direction: 'output' }, outputTokens);
    cost.inc(labels, costUsd);
  }
  for (const [why, count] of Object.entries(counters.refused)) refused.inc({ why }, count);
  metrics.phases.set(
    totals.phases.map(({ phase, path, durations }) => ({ labels: { phase, path }, durations })),
  );
  metrics.failOvers.set([{ labels: {}, durations: totals.failOvers }]);
  setTotal(metrics.evicted, totals.sessionsEvicted);
  setTotal(metrics.transcriptErrors, totals.transcriptErrors);
  setAll(metrics.busTasks, 'state', {
    queued: bus.queued,
    assigned: bus.assigned,
    in_progress: bus.inProgress,
    blocked: bus.blocked,
    dead: bus.dead,
  });
  metrics.busWorkers.set(bus.workers);
  metrics.busPolling.set(bus.workersPolling);
  setTotal(metrics.gaps, counters.gaps);
  setTotal(metrics.escapes, counters.escapes);
  setTotal(metrics.dropped, counters.dropped);
  setTotal(metrics.lostMail, counters.lost);
  setTotal(metrics.redisChanges, counters.redisChanges);
}

interface Series {
  labels: Record<string, string>;
  durations: Durations;
}

/** Registers a histogram whose values are kept elsewhere; prom-client's own one can only observe. */
function histogram(
  registry: Registry,
  { name, help }: { name: string; help: string },
): { set(series: readonly Series[]): void } {
  let current: readonly Series[] = [];
  const valuesOf = ({ labels, durations: { count, sum, buckets } }: Series) => [
    ...buckets.map(({ le, count: value }) => ({
      labels: { ...labels, le },
      value,
      metricName: `${name}_bucket`,
    })),
    { labels: { ...labels, le: '+Inf' }, value: count, metricName: `${name}_bucket` },
    { labels, value: sum, metricName: `${name}_sum` },
    { labels, value: count, metricName: `${name}_count` },
  ];
  const metric = {
    name,
    get: async () => ({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: current.flatMap(valuesOf),
    }),
  };
  registry.registerMetric(metric as unknown as Gauge);
  return {
    set(series) {
      current = series;
    },
  };
}

function setTotal(counter: Counter, total: number): void {
  counter.reset();
  counter.inc(total);
}

const sumOf = <T>(list: readonly T[], of: (one: T) => number): number =>
  list.reduce((total, one) => total + of(one), 0);

function setAll(gauge: Gauge, label: string, values: Record<string, number>): void {
  for (const [value, count] of Object.entries(values)) gauge.set({ [label]: value }, count);
}
