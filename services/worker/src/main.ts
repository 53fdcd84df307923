import { newWorkerId } from '@harness/contracts';
import { consumeRings, createDispatch, followControl, startLiveness, startSweeper } from '@harness/dispatch';
import { loadPlugins, type PluginHost, startPluginHost } from '@harness/plugin-kit';
import { builtInPlugins, createPluginContext } from '@harness/plugins';
import { connectRedis, createLogger, onShutdown, runMain } from '@harness/runtime';
import { loadWorkerConfig } from './config.ts';
import { createInvoker } from './invoker.ts';
import { createSessionOpener } from './open-session.ts';
import { openSessionHomes } from './session-home.ts';
import { createWorker } from './worker.ts';

runMain(async () => {
  const config = loadWorkerConfig();
  const workerId = newWorkerId();
  const logger = createLogger('worker', config.LOG_LEVEL).child({ workerId });
  const connect = () => connectRedis(config.REDIS_URL, { logger, patience: 'wait' });
  const redis = connect();
  const limits =
    config.HARNESS_RETENTION_MS === undefined ? {} : { retentionMs: config.HARNESS_RETENTION_MS };
  const dispatch = createDispatch({ redis, subscriber: connect(), logger, limits });
  const { keys, scripts, doorbell, lease, feed } = dispatch;
  const tokenSecret = await dispatch.tokenSecret(config.HARNESS_TOKEN_SECRET);

  const homes = await openSessionHomes();
  const mcpUrl = new URL('/mcp', config.HARNESS_GATEWAY_URL).href;
  const opener = createSessionOpener({
    homes,
    mcpUrl,
    modelEnv: config.sessionEnv,
    path: config.path,
    startsAtOnce: config.startsAtOnce,
  });

  const { loaded, diagnostics } = await loadPlugins({
    builtIn: builtInPlugins,
    modulePaths: config.HARNESS_PLUGINS,
  });
  for (const { source, level, message } of diagnostics)
    logger[level === 'error' ? 'error' : 'warn']({ source }, message);
  const plugins: PluginHost = await startPluginHost({
    plugins: loaded,
    logger,
    contextOf: ({ name }) =>
      createPluginContext(name, {
        dispatch,
        role: 'worker',
        logger: logger.child({ plugin: name }),
        invoker: createInvoker({
          pool: () => worker.pool,
          openSession: opener.open,
          plugin: name,
          defaultModel: config.HARNESS_DEFAULT_MODEL,
        }),
        toolServer: () => plugins.toolServer,
        onTaskCreate: (task) => plugins.hooks.taskCreate(task.threadId, task.taskId),
        config: { reviewModel: config.HARNESS_REVIEW_MODEL },
      }),
  });

  const liveness = await startLiveness(
    { redis, keys, logger },
    {
      workerId,
      ttlMs: config.HARNESS_WORKER_TTL_MS,
      onUnhealthy() {
        logger.error('liveness lost: every session is ended');
        worker.fence();
        void opener.killAll();
        liveness.reborn();
      },
    },
  );
  const worker = createWorker({
    dispatch,
    plugins,
    liveness,
    homes,
    openSession: opener.open,
    tokenSecret,
    mcpUrl,
    logger,
    defaultModel: config.HARNESS_DEFAULT_MODEL,
    maxSessions: config.HARNESS_MAX_SESSIONS,
    sessionTtlMs: config.HARNESS_SESSION_TTL_MS,
    turnTimeoutMs: config.HARNESS_TURN_TIMEOUT_MS,
  });

  const control = new AbortController();
  followControl({ feed, keys }, workerId, worker.onControl, control.signal).catch((error) =>
    logger.error({ err: error }, 'control channel lost'),
  );
  const consumers = consumeRings(
    { redis, keys, lease, doorbell, scripts, logger },
    {
      workerId,
      me: liveness.me,
      concurrency: config.HARNESS_MAX_SESSIONS,
      freeSlots: worker.freeSlots,
      onRing: worker.onRing,
    },
  );
  const sweeper = startSweeper({ redis, keys, scripts, doorbell, logger });

  onShutdown(
    async () => {
      sweeper.close();
      await consumers.drain(config.HARNESS_DRAIN_MS, worker.stopTurns);
      control.abort();
      await worker.leave();
      await liveness.end();
      await doorbell.remove(workerId);
      await opener.killAll();
      await plugins.close();
      await homes.close();
      await dispatch.close();
      redis.disconnect();
    },
    { logger, limitMs: config.HARNESS_DRAIN_MS + 20_000 },
  );
  logger.info(
    { plugins: plugins.plugins.map(({ name }) => name), maxSessions: config.HARNESS_MAX_SESSIONS },
    'worker ready',
  );
  process.send?.({ ready: true, workerId });
});
