/**
 * Runs the loaded plugins of one process: register all, start all, then hooks and tools, at the end stop in reverse.
 * A plugin whose register or start fails or takes too long is left out, with its hooks and tools.
 */
import { type CollectedTool, collectTools } from './collect.ts';
import type { MaybePromise, PluginContext, PluginDefinition, PluginHooks, PluginLogger } from './contract.ts';
import { createHookRunner, type HookRunner } from './hooks.ts';
import type { Diagnostic } from './loader.ts';
import { textOf } from './text-of.ts';
import { withTimeLimit } from './time-limit.ts';
import { createToolServer, type ToolServer, type ToolServerDeps } from './tool-server.ts';

export interface PluginHost {
  /** Those that run, in the order given. */
  readonly plugins: readonly PluginDefinition[];
  readonly tools: readonly CollectedTool[];
  /** Null when no running plugin has a tool. */
  readonly toolServer: ToolServer | null;
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
  /** Whether a tool is offered at all; see the tool lock. */
  admit?: ToolServerDeps['admit'];
}

interface Running {
  plugin: PluginDefinition;
  ctx: PluginContext;
  hooks: PluginHooks;
}

const hookNames = [
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
  const diagnostics: Diagnostic[] = [];
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

  const registered: Running[] = [];
  for (const plugin of deps.plugins) {
    const warn = (problem: string) => {
      logger.warn({ plugin: plugin.name }, problem);
      report(plugin, 'warning', problem);
    };
    const step = await tryStep(plugin, 'register', async () => {
      const ctx = deps.contextOf(plugin);
      return { plugin, ctx, hooks: pickHooks(await plugin.register(ctx), warn) };
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
  const tools = collectTools(plugins);
  let closing: Promise<void> | undefined;

  const stopAll = async () => {
    for (const { plugin, ctx } of running.toReversed()) {
      await tryStep(plugin, 'stop', () => plugin.stop?.(ctx));
    }
  };

  return {
    plugins,
    tools,
    toolServer: createToolServer(tools, {
      contextOf,
      logger,
      defaultTimeoutMs: toolTimeoutMs,
      admit: deps.admit,
    }),
    diagnostics,
    hooks: createHookRunner({
      registered: running.map(({ plugin, hooks }) => ({ pluginName: plugin.name, hooks })),
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

/** The hooks there are, bound to their object; what is no hook is left out and told. */
function pickHooks(returned: unknown, warn: (problem: string) => void): PluginHooks {
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
  if ('onCommand' in returned) warn('hook onCommand is ignored: commands are tools now');
  return picked as PluginHooks;
}
