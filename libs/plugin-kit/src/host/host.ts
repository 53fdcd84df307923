/**
 * Runs the loaded plugins of one process: register all, start all, then hooks and tools, at the end stop in reverse.
 * A plugin whose register or start fails or takes too long is left out, with its hooks and tools.
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
import type { ToolDescriptor } from '../tools/tool-descriptor.ts';
import { isAccepted, lockDiagnosticsOf, type ToolLocking } from '../tools/tool-lock.ts';
import { createToolServer, type ToolServer } from '../tools/tool-server.ts';
import { type CollectedTool, collectTools, qualifiedNameOf } from './collect.ts';
import { collectCommands } from './collect-commands.ts';
import type { Command } from './commands.ts';
import { createHookRunner, type HookRunner } from './hooks.ts';
import { createServedCatalog, type ServedCatalog } from './served.ts';

export interface PluginHost {
  /** Those that run, in the order given. */
  readonly plugins: readonly PluginDefinition[];
  /** The tools of those that are enabled. */
  readonly tools: readonly CollectedTool[];
  /** Null when no enabled plugin has a tool. The snapshot of the moment: ask again for each call. */
  readonly toolServer: ToolServer | null;
  /** The other things that enabled plugins offer; a snapshot too. */
  readonly served: ServedCatalog;
  /** Of enabled plugins; another list whenever something of theirs has changed. */
  readonly commands: readonly Command[];
  isEnabled(pluginName: string): boolean;
  /** From now on these rest: no tool, resource, prompt, command or hook of theirs; calls under way end. True = that is new. */
  disable(pluginNames: readonly string[]): boolean;
  /**
   * A running plugin offers other tools, resources, prompts and commands from now on; its context and hooks stay. Throws where
   * there is no such plugin, and for tools that no tool server takes: then all stays as it was.
   */
  replace(plugin: PluginDefinition): void;
  readonly diagnostics: readonly Diagnostic[];
  readonly hooks: HookRunner;
  /** Never rejects; a second call waits for the first. */
  close(): Promise<void>;
}

export interface PluginHostDeps {
  /** As `loadPlugins` returned them: validated, names unique. */
  plugins: readonly PluginDefinition[];
  /** Called once per plugin. */
  contextOf(plugin: PluginDefinition): PluginContext;
  logger: PluginLogger;
  /** For register, start, stop and every hook but the review. Default 10 000. */
  hookTimeoutMs?: number;
  /** For `onTaskComplete`. Default 300 000. */
  reviewTimeoutMs?: number;
  /** For tools that state no limit. Default 300 000. */
  toolTimeoutMs?: number;
  /** What the tools were accepted to say of themselves. */
  toolLock?: ToolLocking | undefined;
  middleware?: readonly ToolMiddleware[];
  /** What was wrong with those that did not load. */
  diagnostics?: readonly Diagnostic[];
  /** Plugins whose tools and prompts may go by their bare names. */
  unprefixed?: readonly string[];
}

interface Running {
  plugin: PluginDefinition;
  ctx: PluginContext;
  hooks: PluginHooks;
}

export const hookNames = [
  'onMessage',
  'onBeforeInvoke',
  'onAfterInvoke',
  'onTaskCreate',
  'onTaskComplete',
  'onTaskFailed',
  'onBroadcast',
] as const satisfies (keyof PluginHooks)[];

export async function startPluginHost(deps: PluginHostDeps): Promise<PluginHost> {
  const { logger, hookTimeoutMs = 10_000, reviewTimeoutMs = 300_000, toolTimeoutMs = 300_000 } = deps;
  const diagnostics: Diagnostic[] = [...(deps.diagnostics ?? [])];
  const report = ({ name }: PluginDefinition, level: Diagnostic['level'], message: string) =>
    diagnostics.push({ source: name, level, message: `${name}: ${message}` });

  /** Undefined when the step failed; what it returned is wrapped, for a step may return nothing. */
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
      // Commands are the gateway's: one process of the fleet says what became of them.
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
  /** What this process itself puts anew into a plugin (skills, from the operator's own folder) is not locked. */
  const isReplaced = (pluginName: string) => offered.get(pluginName) !== started.get(pluginName);
  const admit = toolLock?.enforce
    ? (descriptor: ToolDescriptor, pluginName: string) =>
        isReplaced(pluginName) || isAccepted(descriptor, toolLock.lock)
    : undefined;
  const collected = new WeakMap<PluginDefinition, CollectedTool[]>();
  /** The same tools for as long as it is the same plugin. */
  const toolsOf = (plugin: PluginDefinition): CollectedTool[] => {
    const tools = collected.get(plugin) ?? collectTools([plugin]);
    collected.set(plugin, tools);
    return tools;
  };
  const snapshotWithout = (disabled: ReadonlySet<string>) => {
    const enabled = [...offered.values()].filter(({ name }) => !disabled.has(name));
    const tools = enabled.flatMap(toolsOf);
    const { middleware = [] } = deps;
    return {
      disabled,
      tools,
      toolServer: createToolServer(tools, {
        contextOf,
        logger,
        defaultTimeoutMs: toolTimeoutMs,
        middleware,
        admit,
      }),
      served: createServedCatalog(enabled, contextOf),
      commands: collectCommands(enabled, contextOf),
    };
  };
  let snapshot = snapshotWithout(new Set());
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
    get served() {
      return snapshot.served;
    },
    get commands() {
      return snapshot.commands;
    },
    isEnabled: (name) => !snapshot.disabled.has(name),
    disable(names) {
      const disabled = new Set(names);
      const same =
        disabled.size === snapshot.disabled.size && names.every((name) => snapshot.disabled.has(name));
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
      isEnabled: (name) => !snapshot.disabled.has(name),
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

/** Why a plugin cannot be beside those before it; `taken` gathers the names that are in use, by owner. */
function refusalOf(
  plugin: PluginDefinition,
  taken: Map<string, string>,
  unprefixed: readonly string[],
): string | undefined {
  const { name, prefix, tools = [] } = plugin;
  if (prefix === false && !unprefixed.includes(name))
    return 'it wants bare names (prefix: false), which only plugins named in HARNESS_UNPREFIXED_PLUGINS may have';
  if (prefix === false && tools.some((tool) => tool.name.includes('__')))
    return 'a bare tool name must not contain "__": it would look like another plugin’s';
  const names = tools.map((tool) => qualifiedNameOf(plugin, tool.name));
  const clash = names.find((one) => taken.has(one));
  if (clash) return `its tool "${clash}" has the name of one of ${taken.get(clash)}`;
  for (const one of names) taken.set(one, name);
  return undefined;
}

/** The hooks there are, bound to their object; what is no hook is left out and told. */
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
    warn('hook onCommand is ignored: agents call tools, and people the commands of `commands`');
  return picked as PluginHooks;
}
