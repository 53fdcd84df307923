/**
 * Runs the loaded plugins of one process: registers all, starts all, serves their hooks and tools, and stops them in
 * reverse order. A plugin whose `register` or `start` fails or takes too long is left out, with its hooks and tools.
 *
 * - `hooks.ts`            calls the hooks of all plugins
 * - `collect.ts`          tools with their qualified names
 * - `offer.ts`           which tenants are offered which plugins
 * - `served.ts`           the catalog of resources, templates and prompts
 * - `collect-commands.ts` commands bound to their plugins
 * - `commands.ts`         the registry of slash commands
 * - `detached-context.ts` a plugin context without a host
 */

import type {
  MaybePromise,
  PluginContext,
  PluginDefinition,
  PluginHooks,
  PluginLogger,
} from '../contract/contract.ts';
import type { Diagnostic } from '../load/loader.ts';
import { textOf } from '../text-of.ts';
import { canonicalJson } from '../tools/canonical-json.ts';
import type { ToolMiddleware } from '../tools/middleware.ts';
import { withTimeLimit } from '../tools/time-limit.ts';
import type { ToolDescriptor } from '../tools/tool-descriptor.ts';
import { isAccepted, lockDiagnosticsOf, type ToolLocking } from '../tools/tool-lock.ts';
import { createToolServer, type ToolServer } from '../tools/tool-server.ts';
import { type CollectedTool, collectTools, qualifiedNameOf } from './collect.ts';
import { collectCommands } from './collect-commands.ts';
import type { Command } from './commands.ts';
import { createHookRunner, type HookRunner } from './hooks.ts';
import { createOffer, type DisabledPlugins, type Offer, offeredTo } from './offer.ts';
import { createServedCatalog, type ServedCatalog } from './served.ts';

/** The running plugins of a process. Disabling or replacing a plugin makes a new snapshot of what they offer. */
export interface PluginHost {
  /** All running plugins, in the given order, including disabled ones. */
  readonly plugins: readonly PluginDefinition[];
  /** The tools of enabled plugins. */
  readonly tools: readonly CollectedTool[];
  /** The current snapshot: read it again for each call. Null when no enabled plugin has a tool. */
  readonly toolServer: ToolServer | null;
  /** Resources and prompts that a tenant is offered; also a snapshot. */
  servedFor(tenant: string): ServedCatalog;
  /** Commands of enabled plugins; a new array after each change. */
  readonly commands: readonly Command[];
  /** Whether the tenant is offered the plugin; without a tenant, whether it is enabled at all. */
  isEnabled(pluginName: string, tenant?: string): boolean;
  /**
   * Disables exactly these plugins: they offer no tool, resource, prompt, command or hook. Running calls continue to
   * their end. Returns true if this changed anything.
   */
  disable(disabled: DisabledPlugins): boolean;
  /**
   * Replaces the tools, resources, prompts and commands of the running plugin with this name; its context and hooks stay.
   * Throws, and changes nothing, if no such plugin runs or the tool server rejects the tools.
   */
  replace(plugin: PluginDefinition): void;
  readonly diagnostics: readonly Diagnostic[];
  readonly hooks: HookRunner;
  /** Never rejects; a second call waits for the first. */
  close(): Promise<void>;
}

/** What a host needs. Times are in milliseconds. */
export interface PluginHostDeps {
  /** The plugins that `loadPlugins` returned: validated, with unique names. */
  plugins: readonly PluginDefinition[];
  /** Called once per plugin. */
  contextOf(plugin: PluginDefinition): PluginContext;
  logger: PluginLogger;
  /** For `register`, `start`, `stop` and every hook except the review. Default 10 000. */
  hookTimeoutMs?: number;
  /** For `onTaskComplete`. Default 300 000. */
  reviewTimeoutMs?: number;
  /** For tools without `timeoutMs`. Default 300 000. */
  toolTimeoutMs?: number;
  /** The accepted descriptions of the tools. */
  toolLock?: ToolLocking | undefined;
  middleware?: readonly ToolMiddleware[];
  /** Problems of plugins that did not load. */
  diagnostics?: readonly Diagnostic[];
  /** Plugins whose tools and prompts may have bare names. */
  unprefixed?: readonly string[];
  /** The only tenants that are given a plugin; undefined = all. */
  tenantsOf?: ((pluginName: string) => readonly string[] | undefined) | undefined;
  /** The tenant for which a hook runs. */
  tenantNow?: (() => string | undefined) | undefined;
}

interface Running {
  plugin: PluginDefinition;
  ctx: PluginContext;
  hooks: PluginHooks;
}

/** The names of all hooks. */
export const hookNames = [
  'onMessage',
  'onBeforeInvoke',
  'onAfterInvoke',
  'onTaskCreate',
  'onTaskComplete',
  'onTaskFailed',
  'onBroadcast',
] as const satisfies (keyof PluginHooks)[];

/** Registers and starts the plugins. Never rejects because of a plugin: its failure becomes a diagnostic. */
export async function startPluginHost(deps: PluginHostDeps): Promise<PluginHost> {
  const { logger, hookTimeoutMs = 10_000, reviewTimeoutMs = 300_000, toolTimeoutMs = 300_000 } = deps;
  const diagnostics: Diagnostic[] = [...(deps.diagnostics ?? [])];
  const report = ({ name }: PluginDefinition, level: Diagnostic['level'], message: string) =>
    diagnostics.push({ source: name, level, message: `${name}: ${message}` });

  /** Undefined when the step failed. Its result is wrapped, because a step may return undefined. */
  const tryStep = async <T>(plugin: PluginDefinition, step: string, run: () => MaybePromise<T>) => {
    const timeoutError = () => new Error(`took longer than ${hookTimeoutMs} ms`);
    try {
      return { returned: await withTimeLimit({ timeoutMs: hookTimeoutMs, timeoutError }, run) };
    } catch (err) {
      logger.error({ err, plugin: plugin.name, step }, 'plugin failed');
      report(plugin, 'error', `${step} failed: ${textOf(err)}`);
      return undefined;
    }
  };

  const taken = new Map<string, string>();
  const registered: Running[] = [];
  for (const plugin of deps.plugins) {
    const refusal = refusalOf(plugin, taken, deps.unprefixed ?? []);
    if (refusal) {
      report(plugin, 'error', refusal);
      continue;
    }
    const step = await tryStep(plugin, 'register', async () => {
      const ctx = deps.contextOf(plugin);
      // Commands run in the gateway only, so workers do not repeat this warning.
      const warn = (problem: string) => report(plugin, 'warning', problem);
      const hooks = pickHooks(await plugin.register(ctx), { warn, withCommands: ctx.role === 'gateway' });
      return { plugin, ctx, hooks };
    });
    if (step) registered.push(step.returned);
  }

  const running: Running[] = [];
  for (const candidate of registered) {
    const { plugin, ctx } = candidate;
    if (await tryStep(plugin, 'start', () => plugin.start?.(ctx))) running.push(candidate);
  }

  const plugins = running.map(({ plugin }) => plugin);
  const contexts = new Map(running.map(({ plugin, ctx }) => [plugin.name, ctx]));
  const contextOf = (pluginName: string) => contexts.get(pluginName) as PluginContext;
  const { toolLock } = deps;
  const started = new Map(plugins.map((plugin) => [plugin.name, plugin]));
  const offered = new Map(started);
  if (toolLock) diagnostics.push(...lockDiagnosticsOf(collectTools(plugins), toolLock));
  /** The tool lock does not cover a replaced plugin: skills come from the operator's own folder. */
  const isReplaced = (pluginName: string) => offered.get(pluginName) !== started.get(pluginName);
  const admit = toolLock?.enforce
    ? (descriptor: ToolDescriptor, pluginName: string) =>
        isReplaced(pluginName) || isAccepted(descriptor, toolLock.lock)
    : undefined;
  const collected = new WeakMap<PluginDefinition, CollectedTool[]>();
  /** Cached by plugin object: the tool server keeps what it compiled for the same tool object. */
  const toolsOf = (plugin: PluginDefinition): CollectedTool[] => {
    const tools = collected.get(plugin) ?? collectTools([plugin]);
    collected.set(plugin, tools);
    return tools;
  };
  const { tenantsOf = () => undefined } = deps;
  const snapshotWithout = (disabled: DisabledPlugins) => {
    const offer = createOffer(disabled, { plugins: [...offered.values()], tenantsOf });
    const enabled = [...offered.values()].filter(({ name }) => offer.isOffered(name));
    const tools = enabled.flatMap(toolsOf);
    const { middleware = [] } = deps;
    return {
      disabled,
      offer,
      tools,
      toolServer: createToolServer(tools, {
        contextOf,
        logger,
        defaultTimeoutMs: toolTimeoutMs,
        middleware,
        admit,
        offer,
      }),
      servedFor: servedByTenant(enabled, { contextOf, offer }),
      commands: collectCommands(enabled, { contextOf, offer }),
    };
  };
  let snapshot = snapshotWithout({ all: [], tenants: {} });
  let closing: Promise<void> | undefined;

  const stopAll = async () => {
    for (const { plugin, ctx } of running.toReversed()) {
      await tryStep(plugin, 'stop', () => plugin.stop?.(ctx));
    }
  };

  return {
    plugins,
    get tools() {
      return snapshot.tools;
    },
    get toolServer() {
      return snapshot.toolServer;
    },
    servedFor: (tenant) => snapshot.servedFor(tenant),
    get commands() {
      return snapshot.commands;
    },
    isEnabled: (name, tenant) => snapshot.offer.isOffered(name, tenant),
    disable(disabled) {
      const same = canonicalJson(disabled) === canonicalJson(snapshot.disabled);
      if (!same) snapshot = snapshotWithout(disabled);
      return !same;
    },
    replace(plugin) {
      const before = offered.get(plugin.name);
      if (!before) throw new Error(`There is no plugin "${plugin.name}".`);
      offered.set(plugin.name, plugin);
      try {
        snapshot = snapshotWithout(snapshot.disabled);
      } catch (error) {
        offered.set(plugin.name, before);
        throw error;
      }
    },
    diagnostics,
    hooks: createHookRunner({
      registered: running.map(({ plugin, hooks }) => ({ pluginName: plugin.name, hooks })),
      isEnabled: (name) => snapshot.offer.isOffered(name, deps.tenantNow?.()),
      logger,
      hookTimeoutMs,
      reviewTimeoutMs,
    }),
    close() {
      closing ??= stopAll();
      return closing;
    },
  };
}

/** Most tenants whose catalogs are kept. */
const maxCatalogs = 1_000;

/** The catalog of each tenant: one for all, unless they are offered different things. */
function servedByTenant(
  enabled: readonly PluginDefinition[],
  { contextOf, offer }: { contextOf: (pluginName: string) => PluginContext; offer: Offer },
): (tenant: string) => ServedCatalog {
  const common = createServedCatalog(enabled, contextOf);
  const catalogs = new Map<string, ServedCatalog>();
  return (tenant) => {
    if (!offer.differs) return common;
    const known = catalogs.get(tenant);
    if (known) return known;
    const catalog = createServedCatalog(offeredTo(enabled, offer, tenant), contextOf);
    if (catalogs.size >= maxCatalogs) catalogs.clear();
    catalogs.set(tenant, catalog);
    return catalog;
  };
}

/** Why a plugin cannot run beside the previous ones; undefined = it can. `taken` maps used tool names to their owners. */
function refusalOf(
  plugin: PluginDefinition,
  taken: Map<string, string>,
  unprefixed: readonly string[],
): string | undefined {
  const { name, prefix, tools = [] } = plugin;
  if (prefix === false && !unprefixed.includes(name))
    return 'it asks for bare names (prefix: false), which only plugins named in HARNESS_UNPREFIXED_PLUGINS may have';
  if (prefix === false && tools.some((tool) => tool.name.includes('__')))
    return 'a bare tool name must not contain "__": it would look like another plugin’s';
  const names = tools.map((tool) => qualifiedNameOf(plugin, tool.name));
  const clash = names.find((one) => taken.has(one));
  if (clash) return `its tool "${clash}" has the same name as a tool of ${taken.get(clash)}`;
  for (const one of names) taken.set(one, name);
  return undefined;
}

/** Returns the hooks, bound to their object. Ignores everything else, with a warning. */
function pickHooks(
  returned: unknown,
  { warn, withCommands }: { warn(problem: string): void; withCommands: boolean },
): PluginHooks {
  if (returned === undefined || returned === null) return {};
  if (typeof returned !== 'object') {
    warn(`register returned ${typeof returned}, not an object of hooks`);
    return {};
  }
  const picked: Record<string, unknown> = {};
  for (const name of hookNames) {
    const hook: unknown = Reflect.get(returned, name);
    if (typeof hook === 'function') picked[name] = hook.bind(returned);
    else if (hook !== undefined) warn(`hook ${name} is not a function and is ignored`);
  }
  if (withCommands && 'onCommand' in returned)
    warn('hook onCommand is ignored: offer a tool to agents, and a command to people, in `commands`');
  return picked as PluginHooks;
}
