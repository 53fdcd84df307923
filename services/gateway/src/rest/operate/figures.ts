import type { Durations, FleetFigures, Promises, RunPhase } from '@harness/contracts';
import {
  FleetFigures as figuresSchema,
  RunPhase as Phase,
  Promises as promisesSchema,
} from '@harness/contracts';
import { sumOfDurations } from '@harness/dispatch';
import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { readFleet } from '../../metrics/read-fleet.ts';
import { answers, jsonSchemaOf } from '../../openapi/schemas.ts';

/** Adds GET /v1/figures and GET /v1/promises. */
export function addFigureRoutes(app: FastifyInstance, { dispatch }: RouteDeps): void {
  const tags = ['health'];
  app.get(
    '/v1/figures',
    {
      config: { scope: ['fleet', 'metrics'], probe: true },
      schema: {
        tags,
        operationId: 'getFigures',
        summary: 'Figures of the whole fleet (scope fleet or metrics)',
        response: answers({ 200: jsonSchemaOf(figuresSchema) }),
      },
    },
    async (): Promise<FleetFigures> => {
      const { counters, totals, bus, workers, sessions } = await readFleet(dispatch);
      return {
        at: new Date().toISOString(),
        workers,
        sessions,
        pending: counters.pending,
        oldestWaitingMs: counters.oldestWaitingMs,
        runs: counters.runs,
        phases: Object.fromEntries(
          Phase.options.map((phase) => [
            phase,
            sumOfDurations(totals.phases.filter((one) => one.phase === phase).map((one) => one.durations)),
          ]),
        ) as Record<RunPhase, Durations>,
        models: totals.uses,
        bus,
      };
    },
  );
  app.get(
    '/v1/promises',
    {
      config: { scope: ['fleet', 'metrics'] },
      schema: {
        tags,
        operationId: 'getPromises',
        summary: 'What is promised, as measured in this fleet (scope fleet or metrics)',
        response: answers({ 200: jsonSchemaOf(promisesSchema) }),
      },
    },
    async (request): Promise<Promises> => {
      const [counters, { followUps, failOvers }, checked] = await Promise.all([
        dispatch.counters(),
        dispatch.figures.read(),
        dispatch.checkOrder(request.caller.principal.tenant),
      ]);
      const all = Object.values(followUps).reduce((sum, count) => sum + count, 0);
      const warm = followUps.warm ?? 0;
      return {
        at: new Date().toISOString(),
        warmHits: { followUps: all, warm, rate: all === 0 ? 1 : warm / all },
        failOvers: { ...failOvers, p50: percentileOf(failOvers, 0.5), p95: percentileOf(failOvers, 0.95) },
        lost: { tornLog: counters.gaps, failOverOfRedis: counters.lost },
        refused: counters.refused,
        checked,
      };
    },
  );
}

/** Estimates a percentile, s, by interpolation within its bucket; null: no values, or above the last bucket. */
export function percentileOf({ count, buckets }: Durations, share: number): number | null {
  const wanted = count * share;
  let [from, below] = [0, 0];
  for (const { le, count: upTo } of buckets) {
    if (count > 0 && upTo >= wanted) return from + ((le - from) * (wanted - below)) / (upTo - below || 1);
    [from, below] = [le, upTo];
  }
  return null;
}
