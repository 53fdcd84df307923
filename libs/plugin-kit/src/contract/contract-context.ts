/** What the host offers to a plugin: the plugin context and its parts. */
import type { Task, TaskWorkspace, Thread } from '@harness/contracts';
import type { PluginBus } from './contract-bus.ts';
import type { Principal, ToolResult } from './contract-request.ts';
import type { JsonSchema, PluginToolMeta, ToolInput } from './contract-values.ts';

/**
 * The host's interface for a plugin. There is one object for each plugin and process.
 *
 * @example
 * ```ts
 * register: (ctx) => ({
 *   onAfterInvoke: async (threadId) => ctx.store.set(`last:${threadId}`, new Date().toISOString()),
 * }),
 * ```
 */
export interface PluginContext {
  /** Tools and `onBroadcast` run in the gateway; turns and their hooks run in a worker. */
  role: 'gateway' | 'worker';
  /** Adds the plugin's name to every line. */
  logger: PluginLogger;
  /** Settings of the process for its plugins, frozen. */
  config: Readonly<Record<string, unknown>>;
  invoker: Invoker;
  threads: PluginThreads;
  tasks: PluginTasks;
  bus: PluginBus;
  tools: {
    /**
     * Calls a tool by its qualified name. Inside a tool call it uses the caller's rights; inside a hook it runs for the
     * tenant of the thread or task. Throws `tool_not_found`, and `limit_reached` when too many are in progress or within each
     * other; a failure of the tool itself is a result with `isError`.
     */
    call(name: string, input: ToolInput): Promise<ToolResult>;
    /**
     * Restricts the calling session to these tools until its run ends: qualified names, or `x__*` for all names that
     * begin with `x__`. Has no effect on a caller that is not a session.
     */
    narrow(meta: PluginToolMeta, tools: readonly string[]): Promise<void>;
  };
  /**
   * The plugin's key-value store of one tenant: inside a tool call the caller's, inside a hook that of the thread or
   * task, otherwise that of the tenant `default`.
   */
  store: PluginStore;
  /** What all tenants share; only for a plugin that declares `global: true`, otherwise undefined. */
  global?: { store: PluginStore } | undefined;
  /** Calls `onBroadcast` of every plugin in every gateway. `data` must be JSON. */
  broadcast(event: string, data: unknown): Promise<void>;
  /** Notifies the MCP clients of every gateway that have subscribed to the change. */
  notify: {
    resourceUpdated(uri: string): Promise<void>;
    listChanged(list: ChangedList): Promise<void>;
  };
}

/**
 * A list of MCP whose change clients can be notified of.
 *
 * @example
 * ```ts
 * const changed: ChangedList = 'resources';
 * await ctx.notify.listChanged(changed);
 * ```
 */
export type ChangedList = 'tools' | 'resources' | 'prompts';

/**
 * The part of a logger that plugins use. A pino logger has this shape.
 *
 * @example
 * ```ts
 * ctx.logger.warn({ city: 'Bern' }, 'no forecast');
 * ```
 */
export interface PluginLogger {
  debug: PluginLogLine;
  info: PluginLogLine;
  warn: PluginLogLine;
  error: PluginLogLine;
}
/**
 * Writes one log line: `(message)`, `(fields, message)` or `(message, fields)`. An error goes into the field `err`, or
 * takes the place of the fields.
 *
 * @example
 * ```ts
 * const logLine: PluginLogLine = meta.taskId === undefined ? ctx.logger.debug : ctx.logger.info;
 * logLine('forecast requested');
 * ```
 */
export type PluginLogLine = (first: object | string, second?: unknown) => void;

/**
 * Access to a model.
 *
 * @example
 * ```ts
 * const title = await ctx.invoker.invoke(`A title for: ${text}`, { sessionId: 'titles', timeout: 30_000 });
 * ```
 */
export interface Invoker {
  /**
   * Sends one prompt to a model and resolves with the text of the model response.
   * Throws `invoke_timeout` when `timeout` passes and `model_error` when the model fails.
   */
  invoke(prompt: string, options?: InvokeOptions): Promise<string>;
  /**
   * Starts a session in advance. If `threadId` names a thread of the caller's tenant, it is that thread's session, for
   * its next message; otherwise it is the session that `invoke` with the same key will use. Resolves when the prewarm
   * has been requested, and throws like `invoke`.
   */
  prewarm(options?: Pick<InvokeOptions, 'threadId' | 'sessionId' | 'model'>): Promise<void>;
}

/**
 * Calls with the same session key share one conversation: key = `threadId ?? sessionId ?? 'default'`.
 *
 * @example
 * ```ts
 * const options: InvokeOptions = { sessionId: 'titles', timeout: 30_000 };
 * ```
 */
export interface InvokeOptions {
  model?: string;
  sessionId?: string;
  threadId?: string;
  /** Milliseconds. */
  timeout?: number;
  /**
   * JSON Schema (of an object) for the model response. A model that supports schemas returns JSON that matches; other
   * models may return any text, so parse it defensively. Has no effect in a gateway.
   */
  outputSchema?: JsonSchema;
  /** Called while the model response is streamed. */
  onMessage?(message: InvokeMessage): void;
}

/**
 * Streamed output: `delta` = the next piece of text; `message` = one complete message of the model.
 *
 * @example
 * ```ts
 * const onMessage = ({ type, text }: InvokeMessage) => ctx.logger.debug({ type, text }, 'streamed');
 * await ctx.invoker.invoke('Write a poem.', { onMessage });
 * ```
 */
export interface InvokeMessage {
  type: 'delta' | 'message';
  text: string;
}

/**
 * Read access to threads of one tenant: inside a tool call the caller's, inside a hook that of the thread or task.
 *
 * @example
 * ```ts
 * const last = await ctx.threads.history(meta.threadId, { limit: 10 });
 * ```
 */
export interface PluginThreads {
  /** Null for an unknown thread. */
  get(threadId: string): Promise<Thread | null>;
  /** The last `limit` messages (a positive integer), oldest first. Empty for an unknown thread. */
  history(threadId: string, options: { limit: number }): Promise<HistoryMessage[]>;
}

/**
 * One message of a thread's conversation.
 *
 * @example
 * ```ts
 * const message: HistoryMessage = { role: 'user', text: 'Will it rain?' };
 * ```
 */
export interface HistoryMessage {
  role: 'user' | 'assistant';
  text: string;
}

/**
 * Delegated tasks of one tenant: inside a tool call the caller's, inside a hook that of the thread or task, otherwise that
 * of the tenant `default`.
 *
 * @example
 * ```ts
 * const { task } = await ctx.tasks.create({
 *   prompt: 'Write the report',
 *   parentThreadId: meta.threadId,
 *   principal: meta.principal,
 * });
 * const ended = await ctx.tasks.wait(task.taskId, { timeoutMs: 60_000, signal: meta.signal });
 * ```
 */
export interface PluginTasks {
  /**
   * Delegates a task, by default to a sub-agent in a new thread, and returns at once. `existing`: the same tool call,
   * identified by thread and `toolUseId`, has already created the task (it was repeated after a crash).
   * Throws `invalid_request` (also for a field that is not in `TaskRequest`), `thread_not_found`, `agent_not_found`,
   * `task_depth_exceeded`, `task_chain_exceeded`, `too_many_children`, `bus_full`, `idempotency_conflict`, `workspace_refused`.
   */
  create(request: TaskRequest): Promise<{ task: Task; existing: boolean; streamUrl: string }>;
  /** Null for an unknown task. */
  get(taskId: string): Promise<Task | null>;
  /**
   * Waits until the task ends, `timeoutMs` passes or `signal` aborts, and returns its state then. `onCheckin` is called for each
   * report of progress, also for those before the wait; not in a separate process. Throws `task_not_found`.
   */
  wait(
    taskId: string,
    limit: { timeoutMs: number; signal?: AbortSignal; onCheckin?(message: string): void },
  ): Promise<Task>;
  /** Notifies MCP clients of changes of the resource `harness://tasks/<taskId>` from now on. Throws `task_not_found`. */
  watch(taskId: string): Promise<void>;
  /** Reports progress on the task to its parent thread. Throws `task_not_found`. */
  checkin(checkin: { taskId: string; message: string; toolUseId?: string | undefined }): Promise<void>;
}

/**
 * The skill that a task follows.
 *
 * @example
 * ```ts
 * const skill: FollowedSkill = { name: 'forecast', arguments: 'Bern tomorrow' };
 * ```
 */
export interface FollowedSkill {
  name: string;
  /** As typed. */
  arguments: string;
}

/**
 * A task to delegate. Ids and the principal come from the meta of the tool call.
 *
 * @example
 * ```ts
 * const request: TaskRequest = {
 *   prompt: 'Write the report',
 *   agent: 'writer',
 *   parentThreadId: meta.threadId,
 *   principal: meta.principal,
 * };
 * ```
 */
export interface TaskRequest {
  prompt: string;
  model?: string | undefined;
  /** Name of the agent profile that the sub-agent uses. */
  agent?: string | undefined;
  /** Qualified names. The sub-agent gets those of them that its parent may use. */
  allowedTools?: readonly string[] | undefined;
  /** How often the result may be reviewed before it is accepted as it is. */
  maxIterations?: number | undefined;
  /** Who does the work: a sub-agent (`fleet`, the default), or an external worker on the bus. */
  target?: Task['target'] | undefined;
  /**
   * The files that the sub-agent begins with: a copy of its parent's, as of the end of the parent's latest turn, or none
   * (`empty`). Default: as its parent.
   */
  workspace?: TaskWorkspace | undefined;
  /** The skill whose instructions are the prompt: the commands in them run where the sub-agent works. */
  skill?: FollowedSkill | undefined;
  /** The calling thread. A task of an outside caller that named no thread has no parent: no session would read its notifications. */
  parentThreadId: string;
  toolUseId?: string | undefined;
  runId?: string | undefined;
  attempt?: number | undefined;
  principal: Principal;
}

/**
 * JSON values by key, in a namespace of the plugin and the tenant. All processes of the fleet share them.
 *
 * @example
 * ```ts
 * await ctx.store.set('cursor', 42);
 * const cursor = Number((await ctx.store.get('cursor')) ?? 0);
 * ```
 */
export interface PluginStore {
  /** Undefined for an unknown key. */
  get(key: string): Promise<unknown>;
  set(key: string, value: unknown): Promise<void>;
  delete(key: string): Promise<void>;
}
