import { newWorkerId, type WorkerInfo } from '@harness/contracts';
import { createDispatch } from '@harness/dispatch';
import {
  ConfigError,
  connectRedis,
  createLogger,
  fleetLimitsOf,
  openStandardOutput,
  requireDatabase,
  startTracing,
  watchEscapes,
} from '@harness/runtime';
import type { WorkerConfig } from '../config.ts';
import { openEndpoint } from './endpoint.ts';
import { createWorkerMetrics } from './worker-metrics.ts';
import { type WorkerState, workerTroubleOf } from './worker-trouble.ts';

/** What the endpoint reports; replaced when the worker has joined the fleet. */
interface WorkerStatus {
  state(): WorkerState;
  sandbox: WorkerInfo['sandbox'];
}

/** What every later step of the start builds on. */
export type Base = Awaited<ReturnType<typeof openBase>>;

/** Step 1 of the start: logs, health, metrics and Redis. Throws ConfigError when the data in Redis has another version. */
export async function openBase(config: WorkerConfig) {
  const workerId = newWorkerId();
  const startedAt = new Date().toISOString();
  const output = { destination: openStandardOutput(), scrubber: config.scrubber };
  const logger = createLogger('worker', config.LOG_LEVEL, output).child({ workerId });
  const escapes = watchEscapes(logger);
  const metrics = createWorkerMetrics();
  const tracing = await startTracing(config, {
    service: 'harness-worker',
    instance: workerId,
    scrubber: config.scrubber,
  });
  /** The state that the endpoint reports; replaced when the worker has joined the fleet. */
  const status: WorkerStatus = {
    state: () => ({ phase: 'starting', redis: undefined, healthy: false }),
    sandbox: undefined,
  };
  // First: a bad port is reported at once, and /healthz responds while the worker waits for Redis.
  const endpoint =
    config.HARNESS_WORKER_PORT === undefined
      ? undefined
      : await openEndpoint({
          host: config.HARNESS_WORKER_HOST,
          port: config.HARNESS_WORKER_PORT,
          logger,
          trouble: () => workerTroubleOf(status.state()),
          sandbox: () => status.sandbox,
          metrics,
        });
  const connect = () => connectRedis(config.REDIS_URL, { logger, patience: 'wait' });
  const redis = connect();
  const limits = fleetLimitsOf(config);
  const acks = config.HARNESS_REDIS_ACKS;
  const dispatch = createDispatch({
    redis,
    subscriber: connect(),
    logger,
    limits,
    acks,
    traceNow: tracing.current,
  });
  escapes.onEscape(() => {
    metrics.escaped();
    dispatch.countEscape().catch(() => undefined);
  });
  const writes = dispatch.probeWrites({ onWritten: metrics.redisWritten });
  status.state = () => ({ phase: 'starting', redis: writes.trouble(), healthy: false });
  await writes.accepted;
  await requireDatabase(redis);
  const admission = await dispatch.dataVersion.enter();
  if (admission.outcome === 'refused') throw new ConfigError(admission.message);
  const tokenSecrets = await dispatch.tokenSecrets(config.HARNESS_TOKEN_SECRET);
  return {
    config,
    workerId,
    startedAt,
    logger,
    escapes,
    metrics,
    tracing,
    status,
    endpoint,
    redis,
    dispatch,
    writes,
    tokenSecrets,
    mcpUrl: new URL('/mcp', config.HARNESS_GATEWAY_URL).href,
    draining: false,
  };
}
