/**
 * Runs the loaded plugins of one process: registers all, starts all, serves their hooks and tools, and stops them in
 * reverse order. A plugin whose `register` or `start` fails or takes too long is left out, with its hooks and tools.
 *
 * - `snapshots.ts`        what the enabled plugins offer
 * - `name-clashes.ts`     names that two plugins use
 * - `hooks.ts`            calls the hooks of all plugins
 * - `collect.ts`          tools with their qualified names
 * - `offer.ts`            which tenants are offered which plugins
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
import type { ToolMiddleware } from '../tools/middleware.ts';
import { withTimeLimit } from '../tools/time-limit.ts';
import { lockDiagnosticsOf, type ToolLocking } from '../tools/tool-lock.ts';
import type { ToolServer } from '../tools/tool-server.ts';
import type { CollectedTool } from './collect.ts';
import type { Command } from './commands.ts';
import { createHookRunner, type HookRunner } from './hooks.ts';
import { createNameClashes } from './name-clashes.ts';
import type { DisabledPlugins } from './offer.ts';
import type { ServedCatalog } from './served.ts';
import { createSnapshots, inRank, type Placing } from './snapshots.ts';

/** The running plugins of a process. Disabling or replacing a plugin makes a new snapshot of what they offer. */
export interface PluginHost {
  /** All running plugins, in the given order, including disabled ones; then those that were added, by rank and name. */
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
  /**
   * Adds a plugin while the process runs, or replaces one that was added: a plugin without hooks, whose `register`, `start` and
   * `stop` are not called. The tool lock applies to it. `tenants`: the only ones that are given it. `rank`: lower ones are listed
   * first; default 0. Throws, and changes nothing,
   * for a name that another plugin has, and if the tool server rejects the tools.
   */
  add(plugin: PluginDefinition, given?: Placing): void;
  /** Removes a plugin that was added; running calls continue to their end. */
  remove(pluginName: string): void;
  /** The only tenants that are given a plugin; undefined = all. */
  tenantsOf(pluginName: string): readonly string[] | undefined;
  /** The tool lock in effect. */
  readonly toolLock: ToolLocking | undefined;
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
  const { toolLock, middleware = [], tenantsOf } = deps;
  const steps = createSteps({ logger, timeoutMs: hookTimeoutMs, diagnostics: deps.diagnostics ?? [] });
  const running = await startAll(await registerAll(deps, steps), steps);
  const plugins = running.map(({ plugin }) => plugin);
  const contexts = new Map(running.map(({ plugin, ctx }) => [plugin.name, ctx]));
  const contextOf = (pluginName: string) => contexts.get(pluginName) as PluginContext;
  const added = new Map<string, { plugin: PluginDefinition; rank: number | undefined }>();
  if (toolLock) steps.diagnostics.push(...lockDiagnosticsOf(plugins, toolLock));
  const offering = { contextOf, logger, toolTimeoutMs, toolLock, middleware, tenantsOf };
  const snapshots = createSnapshots(plugins, offering);
  const isEnabled = (name: string, tenant?: string) => snapshots.current().offer.isOffered(name, tenant);
  let closing: Promise<void> | undefined;

  return {
    get plugins() {
      return [...plugins, ...inRank(added).map(({ plugin }) => plugin)];
    },
    get tools() {
      return snapshots.current().tools;
    },
    get toolServer() {
      return snapshots.current().toolServer;
    },
    servedFor: (tenant) => snapshots.current().servedFor(tenant),
    get commands() {
      return snapshots.current().commands;
    },
    isEnabled,
    disable: snapshots.disable,
    replace: snapshots.replace,
    add(plugin, given = {}) {
      const { name } = plugin;
      if (plugins.some((other) => other.name === name))
        throw new Error(`The name "${name}" belongs to another plugin.`);
      if (!contexts.has(name)) contexts.set(name, deps.contextOf(plugin));
      snapshots.add(plugin, given);
      added.set(name, { plugin, rank: given.rank });
    },
    remove(name) {
      if (added.delete(name)) snapshots.remove(name);
    },
    tenantsOf: snapshots.tenantsOf,
    toolLock,
    diagnostics: steps.diagnostics,
    hooks: createHookRunner({
      registered: running.map(({ plugin, hooks }) => ({ pluginName: plugin.name, hooks })),
      isEnabled: (name) => isEnabled(name, deps.tenantNow?.()),
      logger,
      hookTimeoutMs,
      reviewTimeoutMs,
    }),
    close() {
      closing ??= stopAll(running, steps);
      return closing;
    },
  };
}

/** Runs the steps in the life of a plugin: register, start, stop. A step that fails becomes a diagnostic. */
interface Steps {
  diagnostics: Diagnostic[];
  report(plugin: PluginDefinition, level: Diagnostic['level'], message: string): void;
  /** Undefined when the step failed. Its result is wrapped, because a step may return undefined. */
  run<T>(
    plugin: PluginDefinition,
    step: string,
    action: () => MaybePromise<T>,
  ): Promise<{ returned: T } | undefined>;
}

function createSteps(deps: {
  logger: PluginLogger;
  timeoutMs: number;
  diagnostics: readonly Diagnostic[];
}): Steps {
  const { logger, timeoutMs } = deps;
  const diagnostics = [...deps.diagnostics];
  const report: Steps['report'] = ({ name }, level, message) =>
    void diagnostics.push({ source: name, level, message: `${name}: ${message}` });
  return {
    diagnostics,
    report,
    async run(plugin, step, action) {
      const timeoutError = () => new Error(`took longer than ${timeoutMs} ms`);
      try {
        return { returned: await withTimeLimit({ timeoutMs, timeoutError }, action) };
      } catch (err) {
        logger.error({ err, plugin: plugin.name, step }, 'plugin failed');
        report(plugin, 'error', `${step} failed: ${textOf(err)}`);
        return undefined;
      }
    },
  };
}

/**
 * Registers all plugins whose names do not clash with those of a plugin before them. All together, as they start: those
 * that never end take the time limit once.
 */
async function registerAll(deps: PluginHostDeps, { report, run }: Steps): Promise<Running[]> {
  const clashes = createNameClashes(deps.unprefixed ?? []);
  const accepted = deps.plugins.filter((plugin) => {
    const refusal = clashes.refusalOf(plugin);
    if (refusal) report(plugin, 'error', refusal);
    return refusal === undefined;
  });
  const register = (plugin: PluginDefinition) =>
    run(plugin, 'register', async () => {
      const ctx = deps.contextOf(plugin);
      // Commands run in the gateway only, so workers do not repeat this warning.
      const warn = (problem: string) => report(plugin, 'warning', problem);
      const hooks = pickHooks(await plugin.register(ctx), { warn, withCommands: ctx.role === 'gateway' });
      return { plugin, ctx, hooks };
    });
  const registered = (await Promise.all(accepted.map(register))).flatMap((step) => step?.returned ?? []);
  for (const { plugin } of registered)
    for (const hidden of clashes.hiddenBy(plugin)) report(plugin, 'warning', hidden);
  return registered;
}

async function startAll(registered: readonly Running[], { run }: Steps): Promise<Running[]> {
  const start = ({ plugin, ctx }: Running) => run(plugin, 'start', () => plugin.start?.(ctx));
  const started = await Promise.all(registered.map(start));
  return registered.filter((_, index) => started[index] !== undefined);
}

/** Stops the plugins in reverse order. */
async function stopAll(running: readonly Running[], { run }: Steps): Promise<void> {
  for (const { plugin, ctx } of running.toReversed()) await run(plugin, 'stop', () => plugin.stop?.(ctx));
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
