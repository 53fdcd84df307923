import type { Dispatch } from '@harness/dispatch';
import {
  type Diagnostic,
  type PluginDefinition,
  type PluginHost,
  startPluginHost,
} from '@harness/plugin-kit';
import { createPluginContext } from '@harness/plugins';
import type { Logger } from '@harness/runtime';
import { createThreadInvoker } from './thread-invoker.ts';

/** Runs the loaded plugins in this gateway, and says which came up with which tools. */
export async function startGatewayPlugins(deps: {
  dispatch: Dispatch;
  logger: Logger;
  sources: { loaded: PluginDefinition[]; diagnostics: Diagnostic[] };
}): Promise<PluginHost> {
  const { dispatch, logger, sources } = deps;
  const host: PluginHost = await startPluginHost({
    plugins: sources.loaded,
    logger,
    contextOf: ({ name }) =>
      createPluginContext(name, {
        dispatch,
        role: 'gateway',
        logger: logger.child({ plugin: name }),
        invoker: createThreadInvoker(dispatch, name),
        toolServer: () => host.toolServer,
        onTaskCreate: (task) => host.hooks.taskCreate(task.threadId, task.taskId),
      }),
  });
  const diagnostics = [...sources.diagnostics, ...host.diagnostics];
  for (const { source, level, message } of diagnostics)
    logger[level === 'error' ? 'error' : 'warn']({ source }, message);
  for (const { name, version, tools = [] } of host.plugins) {
    logger.info({ plugin: name, version, tools: tools.map((tool) => tool.name) }, 'plugin ready');
  }
  logger.info({ plugins: host.plugins.length, tools: host.tools.length }, 'tools collected');

  const ended = new AbortController();
  const broadcasts = dispatch.followBroadcasts(
    (event, data) => void host.hooks.broadcast(event, data),
    ended.signal,
  );
  broadcasts.catch((error) => logger.error({ err: error }, 'broadcasts lost'));
  return {
    ...host,
    diagnostics,
    async close() {
      ended.abort();
      await host.close();
    },
  };
}
