import type { Dispatch } from '@harness/dispatch';
import {
  type Invoker,
  loadPlugins,
  type PluginContext,
  type PluginDefinition,
  type PluginHost,
  type PluginLogger,
  startPluginHost,
  type ToolLocking,
} from '@harness/plugin-kit';
import { builtInPlugins } from './built-in.ts';
import { createIsolation, type IsolationSettings, type PluginProcessStatus } from './isolation/isolation.ts';
import { createPluginContext, type OuterCall } from './plugin-context.ts';
import { createPluginLogger } from './plugin-logger.ts';
import { skillPluginName } from './skills/skill-plugin.ts';

export interface PluginStart {
  dispatch: Dispatch;
  role: PluginContext['role'];
  logger: PluginLogger & { child(fields: object): PluginLogger };
  /** Plugins from outside, besides the built-in ones. */
  modulePaths: readonly string[];
  /** In place of the built-in ones. */
  builtIn?: readonly PluginDefinition[];
  /** Names of built-in ones that are left out; plugins from outside may have these names. */
  leftOut?: readonly string[];
  invokerOf(plugin: string): Invoker;
  tokenSecret: string;
  config?: Record<string, unknown>;
  toolLock?: ToolLocking | undefined;
  /** The tool call under way where a plugin's code runs. */
  outerCall?: (() => OuterCall | undefined) | undefined;
  /** For whom a plugin's code runs, in a tool call or in a hook; undefined outside of both. */
  tenantNow?: (() => string | undefined) | undefined;
  /** W3C trace context of the request for which a plugin's code runs. */
  traceNow?: (() => string | undefined) | undefined;
  /** Plugins whose tools and prompts may go by their bare names. */
  unprefixed?: readonly string[];
  /** Plugins from outside run in processes of their own, with this; undefined: in this one. */
  isolated?: IsolationSettings | undefined;
}

/** The plugins of a process, and how those are that run in a process of their own. */
export interface StartedPlugins extends PluginHost {
  /** Undefined for a plugin that runs in this process. */
  processOf(pluginName: string): PluginProcessStatus | undefined;
  /** Loads the tools that a skill brings as code, as `import` would. */
  importTools(specifier: string): Promise<unknown>;
}

/** Loads and runs the plugins of one process, and says which came up with which tools, and what was wrong with the rest. */
export async function startPlugins({
  dispatch,
  role,
  logger,
  ...rest
}: PluginStart): Promise<StartedPlugins> {
  const { builtIn = builtInPlugins, leftOut = [], config = {} } = rest;
  const isolation =
    rest.isolated &&
    createIsolation({
      ...rest.isolated,
      role,
      config,
      logger,
      scopeNow: () => ({ tenant: rest.tenantNow?.(), traceparent: rest.traceNow?.() }),
    });
  const sources = await loadPlugins({
    builtIn: builtIn.filter(({ name }) => !leftOut.includes(name)),
    modulePaths: rest.modulePaths,
    ...(isolation && { importModule: isolation.importModule }),
  });
  for (const name of leftOut) {
    if (builtIn.some((plugin) => plugin.name === name)) continue;
    const message = `HARNESS_DISABLED_PLUGINS: there is no built-in plugin "${name}"; nothing is left out for it`;
    sources.diagnostics.push({ source: name, level: 'warning', message });
  }
  const host: PluginHost = await startPluginHost({
    plugins: sources.loaded,
    diagnostics: sources.diagnostics,
    logger,
    toolLock: rest.toolLock,
    unprefixed: rest.unprefixed ?? [],
    contextOf: ({ name }) =>
      createPluginContext(name, {
        dispatch,
        role,
        logger: createPluginLogger(logger.child({ plugin: name })),
        invoker: rest.invokerOf(name),
        tokenSecret: rest.tokenSecret,
        toolServer: () => host.toolServer,
        outerCall: rest.outerCall,
        tenantNow: rest.tenantNow,
        onTaskCreate: (task) => host.hooks.taskCreate(task.threadId, task.taskId),
        config,
      }),
  });
  for (const { source, level, message } of host.diagnostics)
    logger[level === 'error' ? 'error' : 'warn']({ source }, message);
  for (const { name, version, tools = [] } of host.plugins) {
    logger.info({ plugin: name, version, tools: tools.map((tool) => tool.name) }, 'plugin ready');
  }
  logger.info({ plugins: host.plugins.length, tools: host.tools.length }, 'tools collected');
  await isolation?.keep(host.plugins);
  return {
    ...host,
    get tools() {
      return host.tools;
    },
    get toolServer() {
      return host.toolServer;
    },
    get served() {
      return host.served;
    },
    get commands() {
      return host.commands;
    },
    processOf(pluginName) {
      if (pluginName === skillPluginName) return isolation?.skillStatus();
      const plugin = host.plugins.find(({ name }) => name === pluginName);
      return plugin && isolation?.statusOf(plugin);
    },
    importTools: isolation?.importTools ?? ((specifier) => import(specifier)),
    async close() {
      await host.close();
      await isolation?.close();
    },
  };
}
