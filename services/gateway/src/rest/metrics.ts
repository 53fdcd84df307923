import type { WorkerInfo } from '@harness/contracts';
import type { FastifyInstance } from 'fastify';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { requireScope } from '../auth.ts';
import type { RouteDeps } from '../deps.ts';
import { answers } from '../schemas.ts';

/** For answers that pass Fastify by. */
export type ObserveMcp = (status: number, seconds: number) => void;

/** `/metrics` for Prometheus: this gateway's requests, and the fleet as its workers last told of themselves. */
export function addMetricsRoute(app: FastifyInstance, { dispatch, plugins }: RouteDeps): ObserveMcp {
  const registry = new Registry();
  const registers = [registry];
  const requests = new Histogram({
    name: 'harness_http_request_seconds',
    help: 'Requests by route and status',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers,
  });
  /** A label set is looked up by hashing; one for each kind of answer is kept instead. */
  const kinds = new Map<string, { observe(seconds: number): void }>();
  const observe = (method: string, route: string, status: number, seconds: number) => {
    const kind = `${method} ${route} ${status}`;
    const observer = kinds.get(kind) ?? requests.labels(method, route, String(status));
    kinds.set(kind, observer);
    observer.observe(seconds);
  };
  app.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions } = request;
    observe(method, routeOptions.url ?? 'unknown', reply.statusCode, reply.elapsedTime / 1000);
    done();
  });

  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help, labelNames, registers });
  const pending = gauge('harness_threads_pending', 'Threads with mail that is not done');
  const workers = gauge('harness_workers', 'Live workers');
  const sessions = gauge('harness_sessions', 'Agent processes, by what they do', ['state']);
  const turns = gauge('harness_turns', 'Turns since the workers started, by how they came to their session', [
    'path',
  ]);
  const evicted = gauge('harness_sessions_evicted', 'Sessions ended to make room or after the idle time');
  const hitRate = gauge('harness_session_hit_rate', 'Share of turns that found their session warm');
  const lost = gauge(
    'harness_transcript_errors',
    'ALARM when it rises: a transcript could not be written; that thread cannot move until it is whole',
  );
  const busTasks = gauge('harness_bus_tasks', 'Tasks on the bus; dead ones wait for somebody to look', [
    'state',
  ]);
  const busWorkers = gauge('harness_bus_workers', 'External workers that are known');
  const busPolling = gauge('harness_bus_workers_polling', 'External workers that wait for a task');
  const pluginUp = gauge(
    'harness_plugin_up',
    'Plugins whose process takes calls at this gateway (1), or is being started again (0)',
    ['plugin'],
  );
  const pluginCrashes = new Counter({
    name: 'harness_plugin_crashes_total',
    help: 'Times that the process of a plugin ended at this gateway, or had to be ended',
    labelNames: ['plugin'],
    registers,
  });
  const gaps = new Counter({
    name: 'harness_mail_gaps_total',
    help: 'ALARM: accepted mail lost with a torn log',
    registers,
  });
  const escapes = new Counter({
    name: 'harness_process_escapes_total',
    help: 'ALARM: processes of the fleet that ended and were to be started again, for an error that nobody caught',
    registers,
  });
  const dropped = new Counter({
    name: 'harness_mail_dropped_total',
    help: 'System mail to deleted threads',
    registers,
  });

  const collect = async () => {
    const [counters, fleet, buses] = await Promise.all([
      dispatch.counters(),
      dispatch.workers.list(),
      dispatch.bus.statsOfAll(),
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
    setAll(turns, 'path', {
      warm,
      spare: sum((worker) => worker.paths.spare ?? 0),
      resume: sum((worker) => worker.paths.resume ?? 0),
      cold: sum((worker) => worker.paths.cold ?? 0),
    });
    const all = sum((worker) => sumOf(Object.values(worker.paths), (count) => count));
    hitRate.set(all === 0 ? 1 : warm / all);
    evicted.set(sum((worker) => worker.evicted));
    lost.set(sum((worker) => worker.transcriptErrors));
    setAll(busTasks, 'state', {
      queued: sumOf(buses, (bus) => bus.depth),
      assigned: sumOf(buses, (bus) => bus.assigned),
      in_progress: sumOf(buses, (bus) => bus.inProgress),
      blocked: sumOf(buses, (bus) => bus.blocked),
      dead: sumOf(buses, (bus) => bus.dead),
    });
    busWorkers.set(sumOf(buses, (bus) => bus.workers));
    busPolling.set(sumOf(buses, (bus) => bus.workersPolling));
    pluginCrashes.reset();
    for (const { name } of plugins.plugins) {
      const process = plugins.processOf?.(name);
      if (!process) continue;
      pluginUp.set({ plugin: name }, process.state === 'ready' ? 1 : 0);
      pluginCrashes.inc({ plugin: name }, process.crashes);
    }
    gaps.reset();
    gaps.inc(counters.gaps);
    escapes.reset();
    escapes.inc(counters.escapes);
    dropped.reset();
    dropped.inc(counters.dropped);
  };

  app.get(
    '/metrics',
    {
      config: { probe: true },
      schema: {
        tags: ['health'],
        operationId: 'getMetrics',
        summary: 'Metrics for Prometheus (scope admin)',
        response: answers({
          200: { description: 'Its text format', content: { 'text/plain': { schema: { type: 'string' } } } },
        }),
      },
    },
    async (request, reply) => {
      requireScope(request.caller, 'admin');
      await collect();
      return reply.type(registry.contentType).send(await registry.metrics());
    },
  );
  return (status, seconds) => observe('POST', '/mcp', status, seconds);
}

const sumOf = <T>(list: readonly T[], of: (one: T) => number): number =>
  list.reduce((total, one) => total + of(one), 0);

function setAll(gauge: Gauge, label: string, values: Record<string, number>): void {
  for (const [value, count] of Object.entries(values)) gauge.set({ [label]: value }, count);
}
