import type { Dispatch } from '@harness/dispatch';
import {
  type Invoker,
  isAccepted,
  loadPlugins,
  lockDiagnosticsOf,
  type PluginContext,
  type PluginDefinition,
  type PluginHost,
  type PluginLogger,
  startPluginHost,
  type ToolLocking,
} from '@harness/plugin-kit';
import { builtInPlugins } from './built-in.ts';
import { createPluginContext } from './plugin-context.ts';

export interface PluginStart {
  dispatch: Dispatch;
  role: PluginContext['role'];
  logger: PluginLogger & { child(fields: object): PluginLogger };
  /** Plugins from outside, besides the built-in ones. */
  modulePaths: readonly string[];
  /** In place of the built-in ones. */
  builtIn?: readonly PluginDefinition[];
  invokerOf(plugin: string): Invoker;
  config?: Record<string, unknown>;
  toolLock?: ToolLocking | undefined;
}

/** Loads and runs the plugins of one process, and says which came up with which tools, and what was wrong with the rest. */
export async function startPlugins({ dispatch, role, logger, ...rest }: PluginStart): Promise<PluginHost> {
  const sources = await loadPlugins({
    builtIn: rest.builtIn ?? builtInPlugins,
    modulePaths: rest.modulePaths,
  });
  const { toolLock } = rest;
  const host: PluginHost = await startPluginHost({
    plugins: sources.loaded,
    logger,
    admit: toolLock?.enforce ? (descriptor) => isAccepted(descriptor, toolLock.lock) : undefined,
    contextOf: ({ name }) =>
      createPluginContext(name, {
        dispatch,
        role,
        logger: logger.child({ plugin: name }),
        invoker: rest.invokerOf(name),
        toolServer: () => host.toolServer,
        onTaskCreate: (task) => host.hooks.taskCreate(task.threadId, task.taskId),
        config: rest.config ?? {},
      }),
  });
  const locked = toolLock ? lockDiagnosticsOf(host.tools, toolLock) : [];
  const diagnostics = [...sources.diagnostics, ...host.diagnostics, ...locked];
  for (const { source, level, message } of diagnostics)
    logger[level === 'error' ? 'error' : 'warn']({ source }, message);
  for (const { name, version, tools = [] } of host.plugins) {
    logger.info({ plugin: name, version, tools: tools.map((tool) => tool.name) }, 'plugin ready');
  }
  logger.info({ plugins: host.plugins.length, tools: host.tools.length }, 'tools collected');
  return { ...host, diagnostics };
}
