/**
 * The fleet as Redis and its workers tell of it, read when Prometheus asks. Every gateway says the same, so of these
 * the maximum over the gateways is the truth, never the sum.
 */
import { SessionPath, type WorkerInfo } from '@harness/contracts';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { RouteDeps } from '../app-deps.ts';

const ofFleet = 'Of the whole fleet, the same at every gateway: take max, not sum';

/** Returns what brings the metrics up to date; it throws `unavailable` while Redis is away. */
export function addFleetMetrics(
  registry: Registry,
  { dispatch, folders }: Pick<RouteDeps, 'dispatch' | 'folders'>,
): () => Promise<void> {
  const registers = [registry];
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help: `${help}. ${ofFleet}`, labelNames, registers });
  /** A total that is kept elsewhere. */
  const total = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name, help: `${help}. ${ofFleet}`, labelNames, registers });
  const pending = gauge('harness_threads_pending', 'Threads with mail that is not done');
  const workers = gauge('harness_workers', 'Live workers');
  const sessions = gauge('harness_sessions', 'Agent processes, by what they do', ['state']);
  const oldest = gauge(
    'harness_oldest_waiting_seconds',
    'Age of the oldest message that waits for a worker, not for its own thread; 0 without any',
  );
  const runs = total(
    'harness_runs_total',
    'Runs that have their result, by status and by how they came to their session',
    ['status', 'path'],
  );
  const turns = gauge('harness_turns', 'harness_runs_total by path alone: those that came to a session', [
    'path',
  ]);
  const evicted = gauge(
    'harness_sessions_evicted',
    'Sessions that live workers ended to make room or after the idle time',
  );
  const hitRate = gauge(
    'harness_session_hit_rate',
    'Share of the turns of live workers that found their session warm',
  );
  const lost = gauge(
    'harness_transcript_errors',
    'ALARM when it rises: a transcript could not be written; that thread cannot move until it is whole',
  );
  const busTasks = gauge('harness_bus_tasks', 'Tasks on the bus; dead ones wait for somebody to look', [
    'state',
  ]);
  const busWorkers = gauge('harness_bus_workers', 'External workers that are known');
  const busPolling = gauge('harness_bus_workers_polling', 'External workers that wait for a task');
  const differing = new Gauge({
    name: 'harness_gateways_with_other_folders',
    help: 'Living gateways whose folder of skills or agents differs from that of this gateway: 0 where all is well',
    labelNames: ['kind'],
    registers,
  });
  const gaps = total('harness_mail_gaps_total', 'ALARM: accepted mail lost with a torn log');
  const escapes = total(
    'harness_process_escapes_total',
    'ALARM: processes of the fleet that ended and were to be started again, for an error that nobody caught',
  );
  const dropped = total('harness_mail_dropped_total', 'System mail to deleted threads');
  const lostMail = total(
    'harness_mail_lost_total',
    'ALARM: accepted messages that a fail-over of Redis took back, as far as the gateways that accepted them know',
  );
  const redisChanges = total(
    'harness_redis_changes_total',
    'Times that Redis became another one, by a fail-over or a restart',
  );

  const collect = async () => {
    const [counters, fleet, buses] = await Promise.all([
      dispatch.counters(),
      dispatch.workers.list(),
      dispatch.bus.totals(),
    ]);
    const sum = (of: (worker: WorkerInfo) => number) => sumOf(fleet, of);
    pending.set(counters.pending);
    workers.set(fleet.length);
    setAll(sessions, 'state', {
      busy: sum((worker) => worker.busy),
      idle: sum((worker) => worker.sessions - worker.busy),
      spare: sum((worker) => worker.spares),
    });
    const warm = sum((worker) => worker.paths.warm ?? 0);
    runs.reset();
    for (const { status, path, count } of counters.runs) runs.inc({ status, path }, count);
    for (const path of SessionPath.options)
      turns.set(
        { path },
        sumOf(counters.runs, (run) => (run.path === path ? run.count : 0)),
      );
    oldest.set(counters.oldestWaitingMs / 1000);
    const all = sum((worker) => sumOf(Object.values(worker.paths), (count) => count));
    hitRate.set(all === 0 ? 1 : warm / all);
    evicted.set(sum((worker) => worker.evicted));
    lost.set(sum((worker) => worker.transcriptErrors));
    setAll(busTasks, 'state', {
      queued: buses.queued,
      assigned: buses.assigned,
      in_progress: buses.inProgress,
      blocked: buses.blocked,
      dead: buses.dead,
    });
    busWorkers.set(buses.workers);
    busPolling.set(buses.workersPolling);
    for (const kind of ['agents', 'skills'] as const) differing.set({ kind }, folders.differing(kind));
    setTotal(gaps, counters.gaps);
    setTotal(escapes, counters.escapes);
    setTotal(dropped, counters.dropped);
    setTotal(lostMail, counters.lost);
    setTotal(redisChanges, counters.redisChanges);
  };
  return collect;
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
