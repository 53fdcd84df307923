import { AppError, defaultThreadIdOf, derivedThreadId, type Task, toAppError } from '@harness/contracts';
import type { Dispatch } from '@harness/dispatch';
import type {
  Invoker,
  PluginContext,
  PluginLogger,
  PluginTasks,
  ToolCallMeta,
  ToolResult,
  ToolServer,
  ToolView,
} from '@harness/plugin-kit';

/** For whom a plugin calls tools by itself, in no call and no hook. */
const ownTenant = 'default';

/** The tool call in which a plugin calls another tool. */
export interface OuterCall {
  meta: ToolCallMeta;
  /** What its caller may call at this moment. */
  view(): Promise<ToolView>;
}

export interface ContextDeps {
  dispatch: Dispatch;
  role: PluginContext['role'];
  logger: PluginLogger;
  invoker: Invoker;
  /** Of the fleet; derives ids of threads that plugins and callers have without naming them. */
  tokenSecret: string;
  /** The host's tool server, known only after every plugin is registered. */
  toolServer(): ToolServer | null;
  /** Told of every new task, where it is made. */
  onTaskCreate(task: Task): Promise<void>;
  /** Undefined outside of tool calls. */
  outerCall?: (() => OuterCall | undefined) | undefined;
  /** For whom its code runs; undefined outside of tool calls and hooks. */
  tenantNow?: (() => string | undefined) | undefined;
  config?: Record<string, unknown>;
}

/** The fleet, as one plugin sees it. */
export function createPluginContext(plugin: string, deps: ContextDeps): PluginContext {
  const { dispatch } = deps;
  /** A thread of the tenant for whom the plugin's code runs. */
  const locate = (threadId: string) =>
    dispatch.threads.locate(deps.tenantNow?.() ?? ownTenant, threadId).catch((error) => {
      if (toAppError(error).code === 'thread_not_found') return undefined;
      throw error;
    });
  return {
    role: deps.role,
    logger: deps.logger,
    config: Object.freeze({ ...deps.config }),
    invoker: deps.invoker,
    threads: {
      get: async (threadId) => (await locate(threadId))?.thread ?? null,
      async history(threadId, { limit }) {
        const found = await locate(threadId);
        return found ? dispatch.runs.history(found.ownId, limit) : [];
      },
    },
    tasks: createPluginTasks(deps),
    bus: dispatch.bus,
    tools: {
      async call(name, input) {
        const server = deps.toolServer();
        if (!server) throw new Error('No plugin of this process has a tool.');
        const outer = deps.outerCall?.();
        const meta = outer ? innerMetaOf(outer.meta) : ownMetaOf(plugin, deps);
        return (await server.call(name, input, meta, await outer?.view())) as ToolResult;
      },
      async narrow({ runId }, tools) {
        if (runId) await dispatch.narrowTools({ runId, tools });
      },
    },
    store: dispatch.storeOf(plugin),
    broadcast: (event, data) => dispatch.broadcast(event, data),
    notify: {
      resourceUpdated: (uri) => dispatch.replicas.broadcast({ kind: 'resource_updated', uri }),
      listChanged: (list) => dispatch.replicas.broadcast({ kind: 'list_changed', list }),
    },
  };
}

/** In a hook a plugin calls by itself, but for the tenant whose thread or task it is; elsewhere for its own. */
function ownMetaOf(plugin: string, { tokenSecret, tenantNow }: ContextDeps): ToolCallMeta {
  const tenant = tenantNow?.() ?? ownTenant;
  return {
    threadId: derivedThreadId(tokenSecret, 'plugin', tenant, plugin),
    principal: { keyId: `plugin:${plugin}`, tenant, scopes: [] },
  };
}

/**
 * The same caller and thread; but the id of the model's call is the outer call's own, and nobody is asked in the middle
 * of it, so that the inner call comes to a result.
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

function createPluginTasks({ dispatch, onTaskCreate, tokenSecret, outerCall }: ContextDeps): PluginTasks {
  return {
    async create({ principal, runId, toolUseId, attempt = 1, ...wish }) {
      const { tools } = (await outerCall?.()?.view()) ?? {};
      // An outside caller's default thread is made only now that something needs it.
      if (wish.parentThreadId === defaultThreadIdOf(tokenSecret, principal)) {
        await dispatch.threads.ensure(principal.tenant, wish.parentThreadId, {}, tools);
      }
      const call = runId ? { runId, toolUseId, attempt } : undefined;
      const made = await dispatch.tasks.create({
        tenant: principal.tenant,
        ...wish,
        call,
        callerTools: tools,
      });
      if (!made.existing) await onTaskCreate(made.task);
      return { ...made, streamUrl: streamUrlOf(made.task) };
    },
    get: (taskId) => dispatch.tasks.find(taskId),
    async wait(taskId, { timeoutMs, signal }) {
      const find = async () => {
        const task = await dispatch.tasks.find(taskId);
        if (!task) throw new AppError('task_not_found', `There is no task ${taskId}.`);
        return task;
      };
      const { threadId } = await find();
      const limit = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]);
      for await (const { type, data } of dispatch.events.follow({ threadId }, {}, limit))
        if (endings.has(type) && data.taskId === taskId) break;
      return find();
    },
    checkin: ({ taskId, message, toolUseId }) =>
      dispatch.tasks.checkin({ taskId, message, toolUseId: toolUseId ?? crypto.randomUUID() }),
  };
}

const endings = new Set<string>(['task.completed', 'task.failed', 'task.cancelled']);

/** Where a task can be watched: the events of its thread. */
export const streamUrlOf = (task: Task): string => `/v1/threads/${task.threadId}/events?follow=true`;
