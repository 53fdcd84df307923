/**
 * Metrics of the whole fleet, read from Redis at each scrape. Every gateway reports the same values, so
 * aggregate them with max, never with sum.
 */
import { SessionPath, type WorkerInfo } from '@harness/contracts';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { RouteDeps } from '../app-deps.ts';

const ofFleet = 'Of the whole fleet, the same at every gateway: use max, not sum';

/**
 * Registers the metrics. Returns the function that updates them; it throws `unavailable` while Redis is
 * unreachable.
 */
export function addFleetMetrics(
  registry: Registry,
  { dispatch, folders }: Pick<RouteDeps, 'dispatch' | 'folders'>,
): () => Promise<void> {
  const registers = [registry];
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help: `${help}. ${ofFleet}`, labelNames, registers });
  /** A counter whose total is kept elsewhere. */
  const total = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name, help: `${help}. ${ofFleet}`, labelNames, registers });
  const pending = gauge('harness_threads_pending', 'Threads with unfinished mail');
  const workers = gauge('harness_workers', 'Live workers');
  const sessions = gauge('harness_sessions', 'Agent processes by state', ['state']);
  const oldest = gauge(
    'harness_oldest_waiting_seconds',
    'Age of the oldest message that waits for a worker and not for its own thread; 0 if none does',
  );
  const runs = total('harness_runs_total', 'Finished runs, by status and by how they got their session', [
    'status',
    'path',
  ]);
  const turns = gauge('harness_turns', 'harness_runs_total by path only: runs that got a session', ['path']);
  const evicted = gauge(
    'harness_sessions_evicted',
    'Sessions that live workers ended to free a slot or after the idle time',
  );
  const hitRate = gauge(
    'harness_session_hit_rate',
    'Share of the turns of live workers that found their session warm',
  );
  const lost = gauge(
    'harness_transcript_errors',
    'ALARM when it rises: a transcript could not be written; that thread stays on its worker until it is',
  );
  const busTasks = gauge('harness_bus_tasks', 'Tasks on the bus by state; dead ones need an operator', [
    'state',
  ]);
  const busWorkers = gauge('harness_bus_workers', 'Known external workers');
  const busPolling = gauge('harness_bus_workers_polling', 'External workers that wait for a task');
  const differing = new Gauge({
    name: 'harness_gateways_with_other_folders',
    help: 'Live gateways whose folder of skills or agents differs from that of this gateway; should be 0',
    labelNames: ['kind'],
    registers,
  });
  const gaps = total('harness_mail_gaps_total', 'ALARM: accepted mail lost with a torn log');
  const escapes = total(
    'harness_process_escapes_total',
    'ALARM: processes of the fleet that exited because of an uncaught error',
  );
  const dropped = total('harness_mail_dropped_total', 'System mail to deleted threads');
  const lostMail = total(
    'harness_mail_lost_total',
    'ALARM: accepted messages lost by a fail-over of Redis, as far as the accepting gateways know',
  );
  const redisChanges = total(
    'harness_redis_changes_total',
    'Changes of the Redis instance, by a fail-over or a restart',
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
