import { join } from 'node:path';
import { consumeRings, followControl, startLiveness, startSweeper } from '@harness/dispatch';
import { followPluginStates, pluginTenantsOf, startPlugins } from '@harness/plugins';
import { onShutdown, runMain } from '@harness/runtime';
import { loadWorkerConfig, useTempDir } from './config.ts';
import { type Base, openBase } from './process/base.ts';
import { createFigureBook } from './process/figure-book.ts';
import { startLeash } from './process/hold-leash.ts';
import { createSandboxes } from './sandbox/sandboxes.ts';
import { createSessionOpener } from './session/open-session.ts';
import { createRoomElsewhere } from './session/pool/room-elsewhere.ts';
import { createSessionLending } from './session/pool/session-lending.ts';
import { processesFor, sessionLimitOf } from './session/pool/session-limit.ts';
import { createSessionPool } from './session/pool/session-pool.ts';
import { createSpares } from './session/pool/spares.ts';
import { openSessionHomes } from './session/session-home.ts';
import { createThreadHolds } from './session/thread-holds.ts';
import { createThreadSlots } from './session/thread-slots.ts';
import { searchesFor } from './session/tool-search.ts';
import { createInvoker } from './turn/invoker.ts';
import { recordTurn } from './turn/trace-turn.ts';
import { turnScope } from './turn/turn-scope.ts';
import { createWorker } from './worker.ts';
import { openWorkspaces } from './workspace/open-workspaces.ts';
import { createSkillFolders } from './workspace/skill-folders.ts';

/**
 * Share of the liveness TTL after which the agents of an unresponsive worker are killed: before others may
 * take its threads.
 */
const leashShare = 0.8;

runMain(async () => {
  const config = loadWorkerConfig();
  const base = await openBase(config);
  const sessions = await openSessions(base);
  const plugins = await openPlugins(base, sessions);
  const fleet = await joinFleet(base, sessions, plugins);
  endInOrder(base, { sessions, plugins, fleet });

  const { workerId, logger, endpoint } = base;
  const maxSessions = sessions.maxSessions();
  const names = plugins.host.plugins.map(({ name }) => name);
  const url = endpoint?.url;
  logger.info({ plugins: names, maxSessions, spares: config.HARNESS_SPARES, url }, 'worker ready');
  process.send?.({ ready: true, workerId, maxSessions, url });
});

type Sessions = Awaited<ReturnType<typeof openSessions>>;
type Plugins = Awaited<ReturnType<typeof openPlugins>>;
type Fleet = Awaited<ReturnType<typeof joinFleet>>;

/** Step 2: what starts and holds agent processes. */
async function openSessions({ config, dispatch, logger, mcpUrl, status, metrics }: Base) {
  const homes = await openSessionHomes();
  useTempDir(homes.root);
  const leash = startLeash({ limitMs: config.HARNESS_WORKER_TTL_MS * leashShare, logger });
  const sandboxes =
    config.workspaces &&
    (await createSandboxes({
      root: homes.root,
      modelEnv: config.sessionEnv,
      limits: config.sandboxLimits,
      egress: config.HARNESS_EGRESS,
      path: config.path,
      wanted: config.HARNESS_SANDBOX,
      logger,
    }));
  const sandbox = sandboxes?.probed ?? { level: 'off' as const };
  status.sandbox = sandbox;
  metrics.nameSandbox(sandbox.level);
  const opener = createSessionOpener({
    homes,
    sandboxes,
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
  const slots = createThreadSlots();
  /** Set once the worker has been created. */
  const evicted: { notify(key: string): void } = { notify: () => undefined };
  const pool = createSessionPool(
    {
      maxSessions,
      idleTtlMs: config.HARNESS_SESSION_TTL_MS,
      onEvict: (key) => evicted.notify(key),
    },
    slots,
  );
  const spares = createSpares({
    // A spare has no sandbox.
    wanted: config.workspaces?.mode === 'on' ? 0 : config.HARNESS_SPARES,
    room: () => processesFor(process.availableMemory()) - 1, // keeps one slot for a thread that needs a session
    logger,
    async open() {
      const searches = await searchesFor(undefined, dispatch);
      const model = config.HARNESS_DEFAULT_MODEL;
      const profile = { model, systemPrompt: undefined, tools: undefined, searches };
      return opener.open({ name: 'spare', profile, store: 'later' });
    },
  });
  return { homes, sandboxes, sandbox, leash, opener, slots, pool, spares, maxSessions, evicted };
}

/** Step 3: the plugins, for their hooks only. */
async function openPlugins(base: Base, { pool, opener }: Sessions) {
  const { config, dispatch, logger, tokenSecrets } = base;
  const host = await startPlugins({
    dispatch,
    role: 'worker',
    logger,
    modulePaths: config.HARNESS_PLUGINS,
    leftOut: config.HARNESS_DISABLED_PLUGINS,
    unprefixed: config.HARNESS_UNPREFIXED_PLUGINS,
    isolated: config.isolated,
    scrubber: config.scrubber,
    namingSecret: tokenSecrets.naming,
    tenantNow: () => turnScope.getStore()?.tenant,
    tenantsOf: pluginTenantsOf(config.HARNESS_PLUGIN_TENANTS),
    invokerOf: (plugin) =>
      createInvoker({
        pool,
        openSession: opener.open,
        plugin,
        defaultModel: config.HARNESS_DEFAULT_MODEL,
        prewarmThread: dispatch.sessions.tryPrewarm,
      }),
    config: { reviewModel: config.HARNESS_REVIEW_MODEL },
  });
  await dispatch.replicas.listen();
  const unfollow = await followPluginStates({ dispatch, plugins: host, logger });
  return { host, unfollow };
}

/** Step 4: joins the fleet: heartbeat, doorbells, control messages, sweep. */
async function joinFleet(base: Base, sessions: Sessions, { host }: Plugins) {
  const { config, dispatch, logger, redis, workerId, metrics, tracing } = base;
  const { keys, scripts, doorbell, fair, lease, feed, workers } = dispatch;
  const { slots, pool, spares, opener, maxSessions } = sessions;
  const holds = createThreadHolds({ slots, pool, lease });
  const lending = createSessionLending({
    dispatch,
    holds,
    pool,
    spares,
    openSession: opener.open,
    toolServer: () => host.toolServer,
    knowsPlugin: (pluginName) => host.plugins.some(({ name }) => name === pluginName),
    tokenSecret: base.tokenSecrets.current,
    mcpUrl: base.mcpUrl,
    workspaces: config.workspaces?.mode ?? 'off',
    ...(config.workspaces && {
      openWorkspace: openWorkspaces({
        dir: config.workspaces.filesDir,
        limits: config.workspaces.fileLimits,
      }),
      skillFolders: createSkillFolders({
        dispatch,
        filesDir: config.workspaces.filesDir,
        folder: join(sessions.homes.root, 'skills'),
      }),
    }),
    defaultModel: config.HARNESS_DEFAULT_MODEL,
    sessionTtlMs: config.HARNESS_SESSION_TTL_MS,
    turnTimeoutMs: config.HARNESS_TURN_TIMEOUT_MS,
    logger,
  });
  const counts = () => ({
    ...pool.counts(),
    maxSessions: maxSessions(),
    spares: spares.count(),
    transcriptErrors: lending.transcriptErrors(),
  });
  // Async: the first heartbeat precedes the creation of `worker`.
  const report = async () => {
    const self = { pid: process.pid, startedAt: base.startedAt, draining: base.draining };
    const load = {
      ...counts(),
      rssBytes: process.memoryUsage.rss(),
      ...worker.stats(),
      sandbox: sessions.sandbox,
    };
    await workers.report(workerId, { ...self, ...load }, config.HARNESS_WORKER_TTL_MS * 3);
  };
  const proveHolds = () =>
    worker.proveHolds().catch((error) => logger.error({ err: error }, 'held threads not checked'));
  const liveness = await startLiveness(
    { redis, keys, logger },
    {
      workerId,
      ttlMs: config.HARNESS_WORKER_TTL_MS,
      onBeat: () => void report().catch((error) => logger.debug({ err: error }, 'worker state not reported')),
      onUnhealthy() {
        logger.error('liveness lost: every running turn is stopped');
        worker.fence();
      },
      onRecovered() {
        logger.info('liveness regained');
        void proveHolds();
      },
    },
  );
  const figures = createFigureBook({
    figures: dispatch.figures,
    workerId,
    totals: () => ({ evicted: pool.counts().evicted, transcriptErrors: lending.transcriptErrors() }),
    logger,
  });
  const worker = createWorker({
    dispatch,
    hooks: host.hooks,
    liveness,
    slots,
    holds,
    pool,
    lending,
    logger,
    scrubber: config.scrubber,
    sessionTtlMs: config.HARNESS_SESSION_TTL_MS,
    turnTimeoutMs: config.HARNESS_TURN_TIMEOUT_MS,
    maxTurns: maxSessions,
    onDrain: () => process.kill(process.pid, 'SIGTERM'),
    tracing,
    onTurn(seen, turn) {
      metrics.turnEnded(seen);
      figures.turnEnded(seen);
      recordTurn(tracing, turn, seen);
    },
  });
  sessions.evicted.notify = worker.onEvict;
  await report();
  // A fail-over of Redis may have lost the liveness key and the leases: renew the one and check the others.
  dispatch.onRedisChange(() => {
    liveness.renew();
    void proveHolds();
  });

  const control = new AbortController();
  followControl({ feed, keys }, { workerId, onControl: worker.onControl }, control.signal).catch((error) =>
    logger.error({ err: error }, 'control channel lost'),
  );
  const consumers = consumeRings(
    { redis, keys, lease, doorbell, fair, scripts, feed, logger },
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
  metrics.countSessions(counts);
  base.status.state = () => ({
    phase: base.draining ? 'draining' : 'working',
    redis: base.writes.trouble(),
    healthy: liveness.healthy(),
  });
  return { worker, liveness, control, consumers, sweeper, figures };
}

/**
 * Shutdown: no new turns, up to HARNESS_DRAIN_MS for the running ones, then the rest in reverse order of the
 * start.
 */
function endInOrder(base: Base, parts: { sessions: Sessions; plugins: Plugins; fleet: Fleet }): void {
  const { config, dispatch, logger, escapes } = base;
  const { worker, liveness, control, consumers, sweeper, figures } = parts.fleet;
  const { spares, opener, leash, homes, sandboxes } = parts.sessions;
  onShutdown(
    async () => {
      base.draining = true;
      sweeper.close();
      spares.close();
      await worker.retire();
      await consumers.drain(config.HARNESS_DRAIN_MS, worker.stopTurns);
      control.abort();
      await worker.leave();
      await figures.close();
      await liveness.end();
      await dispatch.doorbell.remove(base.workerId);
      await opener.killAll();
      leash.close();
      parts.plugins.unfollow();
      await parts.plugins.host.close();
      sandboxes?.close();
      await homes.close();
      base.writes.close();
      await dispatch.close();
      base.redis.disconnect();
      await base.endpoint?.close();
      await base.tracing.close();
    },
    { logger, limitMs: config.HARNESS_DRAIN_MS + 20_000, escapes },
  );
}
