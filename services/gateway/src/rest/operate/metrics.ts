import type { FastifyInstance } from 'fastify';
import { Gauge, Registry } from 'prom-client';
import type { RouteDeps } from '../../app-deps.ts';
import { addFleetMetrics } from '../../metrics/fleet-metrics.ts';
import { addPluginMetrics } from '../../metrics/plugin-metrics.ts';
import { answers } from '../../openapi/schemas.ts';

/**
 * Adds `/metrics` for Prometheus: metrics of this gateway, from `registry`, and at one gateway those of the fleet. While
 * Redis is unreachable the metrics of the fleet are missing and `harness_redis_up` is 0.
 */
export function addMetricsRoute(app: FastifyInstance, deps: RouteDeps & { registry: Registry }): void {
  const { registry } = deps;
  const fleet = new Registry();
  const collect = addFleetMetrics(fleet, deps);
  addPluginMetrics(registry, deps);
  const redisUp = new Gauge({
    name: 'harness_redis_up',
    help: '1: Redis responds to this gateway; 0: it does not, so the metrics of the fleet are missing',
    registers: [registry],
  });
  const ofFleet = new Gauge({
    name: 'harness_fleet_metrics',
    help: '1: this gateway also reports the metrics of the whole fleet; one gateway does',
    registers: [registry],
  });
  const firstAndCollected = async () => {
    if (!(await deps.dispatch.replicas.isFirst())) return false;
    await collect();
    return true;
  };
  new Gauge({
    name: 'harness_gateways_with_other_folders',
    help: 'Live gateways whose folder of skills or agents differs from that of this gateway; should be 0',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      for (const kind of ['agents', 'skills'] as const) this.set({ kind }, deps.folders.differing(kind));
    },
  });
  app.get(
    '/metrics',
    {
      config: { scope: 'metrics', probe: true },
      schema: {
        tags: ['health'],
        operationId: 'getMetrics',
        summary: 'Metrics for Prometheus (scope metrics)',
        response: answers({
          200: {
            description: 'Prometheus text format',
            content: { 'text/plain': { schema: { type: 'string' } } },
          },
        }),
      },
    },
    async (request, reply) => {
      const isFirst = await firstAndCollected().catch((error) => {
        request.log.warn({ err: error }, 'metrics: those of the fleet cannot be read');
        return undefined;
      });
      redisUp.set(isFirst === undefined ? 0 : 1);
      ofFleet.set(isFirst ? 1 : 0);
      const texts = [await registry.metrics(), ...(isFirst ? [await fleet.metrics()] : [])];
      return reply.type(registry.contentType).send(texts.join('\n'));
    },
  );
}
