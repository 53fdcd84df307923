import { newWorkerId } from '@harness/contracts';
import { consumeRings, createDispatch, followControl, startLiveness, startSweeper } from '@harness/dispatch';
import { followPluginStates, startPlugins } from '@harness/plugins';
import {
  ConfigError,
  connectRedis,
  createLogger,
  fleetLimitsOf,
  onShutdown,
  runMain,
  watchEscapes,
} from '@harness/runtime';
import { loadWorkerConfig, useTempDir } from './config.ts';
import { openEndpoint } from './process/endpoint.ts';
import { startLeash } from './process/hold-leash.ts';
import { createWorkerMetrics } from './process/worker-metrics.ts';
import { type WorkerState, workerTroubleOf } from './process/worker-trouble.ts';
import { createSessionOpener } from './session/open-session.ts';
import { createRoomElsewhere } from './session/room-elsewhere.ts';
import { openSessionHomes } from './session/session-home.ts';
import { createLending } from './session/session-lease.ts';
import { processesFor, sessionLimitOf } from './session/session-limit.ts';
import { createSessionPool } from './session/session-pool.ts';
import { createSpares } from './session/spares.ts';
import { createInvoker } from './turn/invoker.ts';
import { turnScope } from './turn/turn-scope.ts';
import { createWorker } from './worker.ts';

/** Part of the TTL after which a silent worker's agents are killed: before others may take its threads. */
const leashShare = 0.8;

runMain(async () => {
  const config = loadWorkerConfig();
  const workerId = newWorkerId();
  const startedAt = new Date().toISOString();
  const logger = createLogger('worker', config.LOG_LEVEL).child({ workerId });
  const escapes = watchEscapes(logger);
  const metrics = createWorkerMetrics();
  let state = (): WorkerState => ({ phase: 'starting', redis: undefined, healthy: false });
  // First of all: a bad port is told at once, and a worker that waits for Redis answers /healthz.
  const endpoint =
    config.HARNESS_WORKER_PORT === undefined
      ? undefined
      : await openEndpoint({
          host: config.HARNESS_WORKER_HOST,
          port: config.HARNESS_WORKER_PORT,
          logger,
          trouble: () => workerTroubleOf(state()),
          metrics,
        });
  const connect = () => connectRedis(config.REDIS_URL, { logger, patience: 'wait' });
  const redis = connect();
  const limits = fleetLimitsOf(config);
  const dispatch = createDispatch({
    redis,
    subscriber: connect(),
    logger,
    limits,
    acks: config.HARNESS_REDIS_ACKS,
  });
  const { keys, scripts, doorbell, lease, feed, workers } = dispatch;
  escapes.onEscape(() => {
    metrics.escaped();
    dispatch.countEscape().catch(() => undefined);
  });
  const admission = await dispatch.dataVersion.enter();
  if (admission.outcome === 'refused') throw new ConfigError(admission.message);
  const writes = dispatch.probeWrites({ onWritten: metrics.redisWritten });
  const tokenSecret = await dispatch.tokenSecret(config.HARNESS_TOKEN_SECRET);

  const homes = await openSessionHomes();
  useTempDir(homes.root);
  const leash = startLeash({ limitMs: config.HARNESS_WORKER_TTL_MS * leashShare, logger });
  const mcpUrl = new URL('/mcp', config.HARNESS_GATEWAY_URL).href;
  const opener = createSessionOpener({
    homes,
    logger,
    mcpUrl,
    modelEnv: config.sessionEnv,
    path: config.path,
    executable: config.HARNESS_AGENT_EXECUTABLE,
    startsAtOnce: config.startsAtOnce,
    onProcess: leash.hold,
  });
  const maxSessions = () =>
    sessionLimitOf(config.HARNESS_MAX_SESSIONS, opener.living(), process.availableMemory());
  const defaultModel = config.HARNESS_DEFAULT_MODEL;
  const pool = createSessionPool({
    maxSessions,
    idleTtlMs: config.HARNESS_SESSION_TTL_MS,
    onEvict: (key) => worker.onEvict(key),
  });
  const spares = createSpares({
    wanted: config.HARNESS_SPARES,
    room: () => processesFor(process.availableMemory()) - 1, // a thread that wants a session of its own comes first
    logger,
    open: () => {
      const profile = { model: defaultModel, systemPrompt: undefined, tools: undefined };
      return opener.open({ name: 'spare', profile, store: 'later' });
    },
  });
  const plugins = await startPlugins({
    dispatch,
    role: 'worker',
    logger,
    modulePaths: config.HARNESS_PLUGINS,
    leftOut: config.HARNESS_DISABLED_PLUGINS,
    unprefixed: config.HARNESS_UNPREFIXED_PLUGINS,
    isolated: config.isolated,
    tokenSecret,
    tenantNow: () => turnScope.getStore()?.tenant,
    invokerOf: (plugin) =>
      createInvoker({
        pool,
        openSession: opener.open,
        plugin,
        defaultModel,
        prewarmThread: dispatch.sessions.tryPrewarm,
      }),
    config: { reviewModel: config.HARNESS_REVIEW_MODEL },
  });
  await dispatch.replicas.listen();
  const unfollow = await followPluginStates({ dispatch, plugins, logger });
  const lending = createLending({
    dispatch,
    pool,
    spares,
    openSession: opener.open,
    toolServer: () => plugins.toolServer,
    tokenSecret,
    mcpUrl,
    defaultModel,
    sessionTtlMs: config.HARNESS_SESSION_TTL_MS,
    turnTimeoutMs: config.HARNESS_TURN_TIMEOUT_MS,
    logger,
  });

  let draining = false;
  const counts = () => ({
    ...pool.counts(),
    maxSessions: maxSessions(),
    spares: spares.count(),
    transcriptErrors: lending.transcriptErrors(),
  });
  // Async: the first heartbeat comes before there is a worker to tell of.
  const report = async () => {
    await workers.report(
      workerId,
      {
        pid: process.pid,
        startedAt,
        draining,
        ...counts(),
        rssBytes: process.memoryUsage.rss(),
        ...worker.stats(),
      },
      config.HARNESS_WORKER_TTL_MS * 3,
    );
  };
  const liveness = await startLiveness(
    { redis, keys, logger },
    {
      workerId,
      ttlMs: config.HARNESS_WORKER_TTL_MS,
      onBeat: () => void report().catch((error) => logger.debug({ err: error }, 'not reported')),
      onUnhealthy() {
        logger.error('liveness lost: every turn under way is interrupted');
        worker.fence();
      },
      onRecovered() {
        logger.info('liveness regained');
        worker.proveHolds().catch((error) => logger.error({ err: error }, 'threads not looked at'));
      },
    },
  );
  const worker = createWorker({
    dispatch,
    hooks: plugins.hooks,
    liveness,
    pool,
    lending,
    logger,
    sessionTtlMs: config.HARNESS_SESSION_TTL_MS,
    turnTimeoutMs: config.HARNESS_TURN_TIMEOUT_MS,
    maxTurns: maxSessions,
    onDrain: () => process.kill(process.pid, 'SIGTERM'),
    onTurn: metrics.turnEnded,
  });
  await report();
  // A fail-over of Redis may have taken back what this worker holds by: it says anew that it lives, and proves its holds.
  dispatch.onRedisChange(() => {
    liveness.renew();
    worker.proveHolds().catch((error) => logger.error({ err: error }, 'threads not looked at'));
  });

  const control = new AbortController();
  followControl({ feed, keys }, workerId, worker.onControl, control.signal).catch((error) =>
    logger.error({ err: error }, 'control channel lost'),
  );
  const consumers = consumeRings(
    { redis, keys, lease, doorbell, scripts, feed, logger },
    {
      workerId,
      me: liveness.me,
      concurrency: config.HARNESS_MAX_SESSIONS,
      freeSlots: worker.freeSlots,
      room: worker.room,
      held: worker.held,
      roomElsewhere: createRoomElsewhere({ workers, workerId }),
      onRing: worker.onRing,
    },
  );
  const sweeper = startSweeper({ redis, keys, scripts, doorbell, logger });

  onShutdown(
    async () => {
      draining = true;
      sweeper.close();
      spares.close();
      await worker.retire();
      await consumers.drain(config.HARNESS_DRAIN_MS, worker.stopTurns);
      control.abort();
      await worker.leave();
      await liveness.end();
      await doorbell.remove(workerId);
      await opener.killAll();
      leash.close();
      unfollow();
      await plugins.close();
      await homes.close();
      writes.close();
      await dispatch.close();
      redis.disconnect();
      await endpoint?.close();
    },
    { logger, limitMs: config.HARNESS_DRAIN_MS + 20_000, escapes },
  );
  metrics.countSessions(counts);
  state = () => ({
    phase: draining ? 'draining' : 'working',
    redis: writes.trouble(),
    healthy: liveness.healthy(),
  });
  const names = plugins.plugins.map(({ name }) => name);
  const url = endpoint?.url;
  logger.info(
    { plugins: names, maxSessions: maxSessions(), spares: config.HARNESS_SPARES, url },
    'worker ready',
  );
  process.send?.({ ready: true, workerId, maxSessions: maxSessions(), url });
});
