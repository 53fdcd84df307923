/** Builds the context of a plugin on top of dispatch. */
import {
  AppError,
  defaultThreadIdOf,
  derivedThreadId,
  type Task,
  type ThreadEvent,
  toAppError,
} from '@harness/contracts';
import type { Dispatch } from '@harness/dispatch';
import type {
  Invoker,
  PluginBus,
  PluginContext,
  PluginLogger,
  PluginTasks,
  ToolCallMeta,
  ToolResult,
  ToolServer,
  ToolView,
} from '@harness/plugin-kit';
import { withCheckedInput } from './check-context-input.ts';
import { createInnerCalls } from './inner-calls.ts';

/** The tenant of a plugin's own tool calls, outside of tool calls and hooks. */
const ownTenant = 'default';

/** The tool call in which a plugin calls another tool. */
export interface OuterCall {
  meta: ToolCallMeta;
  /** The tools that its caller may call now. */
  view(): Promise<ToolView>;
}

/** What a plugin context needs. */
export interface ContextDeps {
  dispatch: Dispatch;
  role: PluginContext['role'];
  logger: PluginLogger;
  invoker: Invoker;
  /** Derives the ids of default threads of plugins and callers. */
  namingSecret: string;
  /** The host's tool server; it exists only after all plugins are registered. */
  toolServer(): ToolServer | null;
  /** Called for every new task, in the process that creates it. */
  onTaskCreate(task: Task): Promise<void>;
  /** The current tool call; undefined outside of tool calls. */
  outerCall?: (() => OuterCall | undefined) | undefined;
  /** The tenant for whom the plugin's code runs; undefined outside of tool calls and hooks. */
  tenantNow?: (() => string | undefined) | undefined;
  /** Whether the plugin declares `global`. */
  isGlobal?: boolean | undefined;
  config?: Record<string, unknown>;
}

/** Creates the context of one plugin. */
export function createPluginContext(plugin: string, deps: ContextDeps): PluginContext {
  const { dispatch } = deps;
  const tenantNow = () => deps.tenantNow?.() ?? ownTenant;
  /** Finds a thread of the tenant for whom the plugin's code runs; undefined if there is none. */
  const locate = (threadId: string) =>
    dispatch.threads.locate(tenantNow(), threadId).catch((error) => {
      if (toAppError(error).code === 'thread_not_found') return undefined;
      throw error;
    });
  const storeNow = () => dispatch.storeOf({ plugin, tenant: tenantNow() });
  const innerCalls = createInnerCalls();
  return {
    role: deps.role,
    logger: deps.logger,
    config: Object.freeze({ ...deps.config }),
    invoker: withCheckedInput('invoker', deps.invoker),
    threads: withCheckedInput('threads', {
      get: async (threadId) => (await locate(threadId))?.thread ?? null,
      async history(threadId, { limit }) {
        const found = await locate(threadId);
        return found ? dispatch.runs.history(found.ownId, limit) : [];
      },
    }),
    tasks: withCheckedInput('tasks', createPluginTasks({ ...deps, tenantNow })),
    bus: withCheckedInput(
      'bus',
      busWithin(() => dispatch.bus, deps),
    ),
    tools: withCheckedInput('tools', {
      call: (name, input) =>
        innerCalls(tenantNow(), async () => {
          const server = deps.toolServer();
          if (!server) throw new AppError('tool_not_found', `There is no tool "${name}".`);
          const outer = deps.outerCall?.();
          const meta = outer ? innerMetaOf(outer.meta) : ownMetaOf(plugin, deps);
          return (await server.call(name, { input, meta, view: await outer?.view() })) as ToolResult;
        }),
      async narrow({ runId }, tools) {
        if (runId) await dispatch.narrowTools({ runId, tools });
      },
    }),
    store: withCheckedInput('store', {
      get: (key) => storeNow().get(key),
      set: (key, value) => storeNow().set(key, value),
      delete: (key) => storeNow().delete(key),
    }),
    global: deps.isGlobal
      ? {
          store: withCheckedInput(
            'store',
            dispatch.storeOf({ plugin, tenant: undefined }),
            'ctx.global.store',
          ),
        }
      : undefined,
    ...withCheckedInput('own', { broadcast: (event, data) => dispatch.broadcast(event, data) }, 'ctx'),
    notify: withCheckedInput('notify', {
      resourceUpdated: (uri) => dispatch.replicas.broadcast({ kind: 'resource_updated', uri }),
      listChanged: (list) => dispatch.replicas.broadcast({ kind: 'list_changed', list }),
    }),
  };
}

/** The meta of a plugin's own call. In a hook it is for the tenant of the thread or task, otherwise for `ownTenant`. */
function ownMetaOf(plugin: string, { namingSecret, tenantNow }: ContextDeps): ToolCallMeta {
  const tenant = tenantNow?.() ?? ownTenant;
  return {
    threadId: derivedThreadId(namingSecret, 'plugin', tenant, plugin),
    principal: { keyId: `plugin:${plugin}`, tenant, scopes: [] },
  };
}

/**
 * The meta of a tool call within a tool call: the same caller and thread, but not `toolUseId`, which identifies the outer
 * call, and not `capabilities`, so that the inner call cannot ask the client for input and always has a result.
 */
const innerMetaOf = ({
  threadId,
  taskId,
  runId,
  attempt,
  principal,
  signal,
}: ToolCallMeta): ToolCallMeta => ({
  threadId,
  taskId,
  runId,
  attempt,
  principal,
  signal,
});

/** Throws `forbidden` for another tenant than the one for whom the plugin's code runs. */
function requireTenant(tenant: string, { tenantNow }: Pick<ContextDeps, 'tenantNow'>): void {
  const current = tenantNow?.();
  if (current === undefined || tenant === current) return;
  throw new AppError(
    'forbidden',
    `This code runs for the tenant "${current}" and may not act for another one.`,
  );
}

/** The bus, for no other tenant than the one for whom the plugin's code runs. */
function busWithin(bus: () => PluginBus, deps: Pick<ContextDeps, 'tenantNow'>): PluginBus {
  const within =
    <Name extends keyof PluginBus>(name: Name) =>
    async (...args: Parameters<PluginBus[Name]>) => {
      const [first] = args;
      requireTenant(typeof first === 'string' ? first : first.tenant, deps);
      return (bus()[name] as (...all: unknown[]) => unknown)(...args);
    };
  const methods = busMethods.map((name) => [name, within(name)]);
  return Object.fromEntries(methods) as PluginBus;
}

const busMethods = [
  'submit',
  'register',
  'poll',
  'ack',
  'heartbeat',
  'done',
  'failed',
  'reset',
  'retry',
  'stats',
  'workers',
] as const satisfies (keyof PluginBus)[];

function createPluginTasks({
  dispatch,
  onTaskCreate,
  namingSecret,
  outerCall,
  tenantNow,
}: Omit<ContextDeps, 'tenantNow'> & { tenantNow: () => string }): PluginTasks {
  const find = (taskId: string) =>
    dispatch.tasks.get(tenantNow(), taskId).catch((error) => {
      if (toAppError(error).code === 'task_not_found') return null;
      throw error;
    });
  const findOrThrow = (taskId: string) => dispatch.tasks.get(tenantNow(), taskId);
  return {
    async create({ principal, runId, toolUseId, attempt = 1, ...wish }) {
      requireTenant(principal.tenant, { tenantNow });
      const { tools, scopes } = (await outerCall?.()?.view()) ?? {};
      const sender = { keyId: principal.keyId, tools, scopes };
      // No session reads the default thread of an outside caller: a notification there would only cost a turn.
      const { parentThreadId: thread, ...rest } = wish;
      const isDefault = thread === defaultThreadIdOf(namingSecret, principal);
      const call = runId ? { runId, toolUseId, attempt } : undefined;
      const made = await dispatch.tasks.create({
        tenant: principal.tenant,
        ...rest,
        ...(!isDefault && { parentThreadId: thread }),
        call,
        sender,
      });
      if (!made.existing) await onTaskCreate(made.task);
      return { ...made, streamUrl: streamUrlOf(made.task) };
    },
    get: find,
    async wait(taskId, { timeoutMs, signal, onCheckin }) {
      const { threadId } = await findOrThrow(taskId);
      const limit = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]);
      const isLast = ({ type, data }: ThreadEvent) => {
        if (data.taskId !== taskId) return false;
        if (type === 'task.checkin') onCheckin?.(String(data.message));
        return endings.has(type);
      };
      await dispatch.events.until({ threadId }, {}, { isLast, signal: limit });
      return findOrThrow(taskId);
    },
    watch: (taskId) => dispatch.tasks.watch(tenantNow(), taskId),
    async checkin({ taskId, message, toolUseId }) {
      await findOrThrow(taskId);
      await dispatch.tasks.checkin({ taskId, message, toolUseId: toolUseId ?? crypto.randomUUID() });
    },
  };
}

const endings = new Set<string>(['task.completed', 'task.failed', 'task.cancelled']);

/** The path of the event stream of a task's thread. */
export const streamUrlOf = (task: Task): string => `/v1/threads/${task.threadId}/events?follow=true`;
