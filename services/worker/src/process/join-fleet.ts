import { join } from 'node:path';
import { consumeRings, followControl, startLiveness, startSweeper } from '@harness/dispatch';
import type { PluginHost } from '@harness/plugin-kit';
import { createSessionLending } from '../session/pool/session-lending.ts';
import { createSlotsElsewhere } from '../session/pool/slots-elsewhere.ts';
import { createThreadHolds, type ThreadHolds } from '../session/thread-holds.ts';
import { recordTurn } from '../turn/trace-turn.ts';
import { createWorker } from '../worker.ts';
import { openWorkspaces } from '../workspace/open-workspaces.ts';
import { createSkillFolders } from '../workspace/skill-folders.ts';
import type { Base } from './base.ts';
import { createFigureBook } from './figure-book.ts';
import type { Sessions } from './open-sessions.ts';

/** The part of the plugin host that turns use. */
type WorkerPlugins = Pick<PluginHost, 'hooks' | 'plugins' | 'toolServer'>;

/** What the last step of the start has begun. */
export type Fleet = Awaited<ReturnType<typeof joinFleet>>;

/** Step 4 of the start: joins the fleet: heartbeat, doorbells, control messages, sweep. */
export async function joinFleet(base: Base, sessions: Sessions, host: WorkerPlugins) {
  const { config, dispatch, logger, redis, workerId, metrics, tracing } = base;
  const { keys, scripts, doorbell, fair, lease, feed, workers } = dispatch;
  const { slots, pool, spares, maxSessions } = sessions;
  const holds = createThreadHolds({ slots, pool, lease });
  const lending = openLending(base, { ...sessions, holds, host });
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
  const checkHolds = () =>
    worker.checkHolds().catch((error) => logger.error({ err: error }, 'held threads not checked'));
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
        void checkHolds();
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
    void checkHolds();
  });

  const control = new AbortController();
  followControl({ feed, keys }, { workerId, onControl: worker.onControl }, control.signal).catch((error) =>
    logger.error(
      { err: error },
      'control channel lost: cancels take effect at the next event of a turn; restart this worker',
    ),
  );
  const consumers = consumeRings(
    { redis, keys, lease, doorbell, fair, scripts, feed, logger },
    {
      workerId,
      me: liveness.me,
      concurrency: config.HARNESS_MAX_SESSIONS,
      freeTurnSlots: worker.freeTurnSlots,
      freeSessionSlots: worker.freeSessionSlots,
      held: worker.held,
      slotsElsewhere: createSlotsElsewhere({ workers, workerId }),
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

/** How a turn gets its session. */
function openLending(
  base: Base,
  { pool, spares, opener, homes, holds, host }: Sessions & { holds: ThreadHolds; host: WorkerPlugins },
) {
  const { config, dispatch, logger } = base;
  return createSessionLending({
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
        folder: join(homes.root, 'skills'),
      }),
    }),
    defaultModel: config.HARNESS_DEFAULT_MODEL,
    sessionTtlMs: config.HARNESS_SESSION_TTL_MS,
    turnTimeoutMs: config.HARNESS_TURN_TIMEOUT_MS,
    logger,
  });
}
