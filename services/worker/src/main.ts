import { followPluginStates, pluginTenantsOf, startPlugins } from '@harness/plugins';
import { onShutdown, runMain } from '@harness/runtime';
import { loadWorkerConfig } from './config.ts';
import { type Base, openBase } from './process/base.ts';
import { type Fleet, joinFleet } from './process/join-fleet.ts';
import { openSessions, type Sessions } from './process/open-sessions.ts';
import { createInvoker } from './turn/invoker.ts';
import { turnScope } from './turn/turn-scope.ts';

runMain(async () => {
  const config = loadWorkerConfig();
  const base = await openBase(config);
  const sessions = await openSessions(base);
  const plugins = await openPlugins(base, sessions);
  const fleet = await joinFleet(base, sessions, plugins.host);
  endInOrder(base, { sessions, plugins, fleet });

  const { workerId, logger, endpoint } = base;
  const maxSessions = sessions.maxSessions();
  const names = plugins.host.plugins.map(({ name }) => name);
  const url = endpoint?.url;
  logger.info({ plugins: names, maxSessions, spares: config.HARNESS_SPARES, url }, 'worker ready');
  process.send?.({ ready: true, workerId, maxSessions, url });
});

type Plugins = Awaited<ReturnType<typeof openPlugins>>;

/** Step 3 of the start: the plugins, for their hooks only. */
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
