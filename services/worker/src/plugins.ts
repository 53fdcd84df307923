import type { Dispatch } from '@harness/dispatch';
import { loadPlugins, type PluginHost, startPluginHost } from '@harness/plugin-kit';
import { builtInPlugins, createPluginContext } from '@harness/plugins';
import type { Logger } from '@harness/runtime';
import type { WorkerConfig } from './config.ts';
import { createInvoker } from './invoker.ts';
import type { OpenSession } from './open-session.ts';
import type { SessionPool } from './session-pool.ts';

/** Loads and runs the plugins in this worker: their hooks run here, their tools in the gateways. */
export async function startWorkerPlugins(deps: {
  dispatch: Dispatch;
  logger: Logger;
  config: WorkerConfig;
  pool: SessionPool;
  openSession: OpenSession;
}): Promise<PluginHost> {
  const { dispatch, logger, config } = deps;
  const sources = await loadPlugins({ builtIn: builtInPlugins, modulePaths: config.HARNESS_PLUGINS });
  const host: PluginHost = await startPluginHost({
    plugins: sources.loaded,
    logger,
    contextOf: ({ name }) =>
      createPluginContext(name, {
        dispatch,
        role: 'worker',
        logger: logger.child({ plugin: name }),
        invoker: createInvoker({
          pool: deps.pool,
          openSession: deps.openSession,
          plugin: name,
          defaultModel: config.HARNESS_DEFAULT_MODEL,
        }),
        toolServer: () => host.toolServer,
        onTaskCreate: (task) => host.hooks.taskCreate(task.threadId, task.taskId),
        config: { reviewModel: config.HARNESS_REVIEW_MODEL },
      }),
  });
  for (const { source, level, message } of [...sources.diagnostics, ...host.diagnostics]) {
    logger[level === 'error' ? 'error' : 'warn']({ source }, message);
  }
  return host;
}
