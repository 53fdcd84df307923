/** Starts the plugins of one process of the fleet. */
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
import type { Scrubber } from '@harness/runtime';
import { builtInPlugins } from './built-in.ts';
import { createIsolation, type IsolationSettings, type PluginProcessStatus } from './isolation/isolation.ts';
import { createPluginContext, type OuterCall } from './plugin-context.ts';
import { createPluginLogger } from './plugin-logger.ts';
import { scrubErrors } from './scrub-errors.ts';
import { skillPluginName } from './skills/skill-plugin.ts';

/** What the start of plugins needs. */
export interface PluginStart {
  dispatch: Dispatch;
  role: PluginContext['role'];
  logger: PluginLogger & { child(fields: object): PluginLogger };
  /** Modules of outside plugins. */
  modulePaths: readonly string[];
  /** Replaces the built-in plugins. */
  builtIn?: readonly PluginDefinition[];
  /** Names of built-in plugins to leave out; outside plugins may then use these names. */
  leftOut?: readonly string[];
  invokerOf(plugin: string): Invoker;
  /** Derives the ids of default threads. */
  namingSecret: string;
  config?: Record<string, unknown>;
  toolLock?: ToolLocking | undefined;
  /** The tool call in which a plugin's code runs; undefined outside of tool calls. */
  outerCall?: (() => OuterCall | undefined) | undefined;
  /** The tenant for whom a plugin's code runs; undefined outside of tool calls and hooks. */
  tenantNow?: (() => string | undefined) | undefined;
  /** W3C trace context of the request for which a plugin's code runs. */
  traceNow?: (() => string | undefined) | undefined;
  /** Plugins whose tools and prompts may have bare names. */
  unprefixed?: readonly string[];
  /** The only tenants that are given a plugin; undefined = all. */
  tenantsOf?: ((pluginName: string) => readonly string[] | undefined) | undefined;
  /** Settings of the separate processes for outside plugins; undefined = they run in this process. */
  isolated?: IsolationSettings | undefined;
  /** Replaces secrets in the errors of tools. */
  scrubber: Scrubber;
}

/** The plugins of a process, with the state of their separate processes. */
export interface StartedPlugins extends PluginHost {
  /** The state of a plugin's process; undefined for a plugin that runs in this one. */
  processOf(pluginName: string): PluginProcessStatus | undefined;
  /** Imports the `tools.ts` of a skill, in this process or in that of the skills. */
  importTools(specifier: string): Promise<unknown>;
}

/** Loads and starts the plugins of one process. Logs each plugin with its tools, and every diagnostic. */
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
    const message = `HARNESS_DISABLED_PLUGINS: there is no built-in plugin "${name}"; this entry has no effect`;
    sources.diagnostics.push({ source: name, level: 'warning', message });
  }
  const host: PluginHost = await startPluginHost({
    plugins: sources.loaded,
    diagnostics: sources.diagnostics,
    logger,
    toolLock: rest.toolLock,
    unprefixed: rest.unprefixed ?? [],
    tenantsOf: rest.tenantsOf,
    tenantNow: rest.tenantNow,
    middleware: [scrubErrors(rest.scrubber)],
    contextOf: ({ name, global }) =>
      createPluginContext(name, {
        dispatch,
        role,
        logger: createPluginLogger(logger.child({ plugin: name })),
        invoker: rest.invokerOf(name),
        namingSecret: rest.namingSecret,
        toolServer: () => host.toolServer,
        outerCall: rest.outerCall,
        tenantNow: rest.tenantNow,
        isGlobal: global,
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
  const closeHost = host.close;
  // The host itself, not a copy: its getters return the current snapshot.
  return Object.assign(host, {
    processOf(pluginName: string) {
      if (pluginName === skillPluginName) return isolation?.skillStatus();
      const plugin = host.plugins.find(({ name }) => name === pluginName);
      return plugin && isolation?.statusOf(plugin);
    },
    importTools: isolation?.importTools ?? ((specifier: string) => import(specifier)),
    async close() {
      await closeHost();
      await isolation?.close();
    },
  });
}
