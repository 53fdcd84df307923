/** What a plugin may ask of its host. */
import type { Task, Thread } from '@harness/contracts';
import type { JsonSchema, PluginToolMeta, ToolInput, ToolResult } from './contract.ts';
import type { PluginBus } from './contract-bus.ts';
import type { Principal } from './contract-request.ts';

/** What the host gives a plugin; one object per plugin and process. */
export interface PluginContext {
  /** Tools and `onBroadcast` run in the gateway; turns and their hooks in a worker. */
  role: 'gateway' | 'worker';
  /** Adds the plugin's name to every line. */
  logger: PluginLogger;
  config: Readonly<Record<string, unknown>>;
  invoker: Invoker;
  threads: PluginThreads;
  tasks: PluginTasks;
  bus: PluginBus;
  tools: {
    /**
     * Calls a tool by its qualified name: in a tool's call with the caller's rights, in a hook for the tenant whose thread
     * or task it is. Throws `tool_not_found`; the tool's own failure is a result.
     */
    call(name: string, input: ToolInput): Promise<ToolResult>;
    /**
     * From now to the end of its run the calling session has of its tools only these: qualified names, `x__*` for all
     * that begin so. A caller that is no session keeps what it has.
     */
    narrow(meta: PluginToolMeta, tools: readonly string[]): Promise<void>;
  };
  store: PluginStore;
  /** Reaches `onBroadcast` of every plugin in every gateway; `data` must be JSON. */
  broadcast(event: string, data: unknown): Promise<void>;
  /** Tells the MCP clients of every gateway, those that asked to be told. */
  notify: {
    resourceUpdated(uri: string): Promise<void>;
    listChanged(list: ChangedList): Promise<void>;
  };
}

export type ChangedList = 'tools' | 'resources' | 'prompts';

/** The part of a logger that plugins use; pino fits. */
export interface PluginLogger {
  debug: PluginLogLine;
  info: PluginLogLine;
  warn: PluginLogLine;
  error: PluginLogLine;
}
/** `(message)`, `(fields, message)` or `(message, fields)`; an error goes in the field `err`, or stands for the fields. */
export type PluginLogLine = (first: object | string, second?: unknown) => void;

export interface Invoker {
  /**
   * One question to a model; resolves with the text of its answer.
   * Throws `invoke_timeout` when `timeout` passes and `model_error` when the model fails.
   */
  invoke(prompt: string, options?: InvokeOptions): Promise<string>;
  /**
   * Starts a session ahead: of the thread, where `threadId` is one of the caller's tenant, for its next message;
   * otherwise the one that `invoke` with the same key will use. Resolves when it is asked for, and throws like `invoke`.
   */
  prewarm(options?: Pick<InvokeOptions, 'threadId' | 'sessionId' | 'model'>): Promise<void>;
}

/** Calls with the same session key share one conversation: key = `threadId ?? sessionId ?? 'default'`. */
export interface InvokeOptions {
  model?: string;
  sessionId?: string;
  threadId?: string;
  /** Milliseconds. */
  timeout?: number;
  /**
   * JSON Schema of the answer, an object. Where the model can be held to it, the text is JSON that fits; another model
   * answers as it likes, so read the text with care. In a gateway it has no effect.
   */
  outputSchema?: JsonSchema;
  /** Called while the answer streams in. */
  onMessage?(message: InvokeMessage): void;
}

/** `delta` = a piece of text as it comes; `message` = a whole message of the model. */
export interface InvokeMessage {
  type: 'delta' | 'message';
  text: string;
}

/** Threads of the tenant for whom the plugin's code runs: in a call its caller's, in a hook the thread's or task's. */
export interface PluginThreads {
  get(threadId: string): Promise<Thread | null>;
  /** The last `limit` messages, oldest first; none of an unknown thread. */
  history(threadId: string, options: { limit: number }): Promise<HistoryMessage[]>;
}
export interface HistoryMessage {
  role: 'user' | 'assistant';
  text: string;
}

export interface PluginTasks {
  /**
   * Starts a sub-agent in a thread of its own and returns at once. `existing` = the same tool call had made the
   * task before (a crash and a second try), found by thread and `toolUseId`.
   * Throws `thread_not_found`, `task_depth_exceeded`, `task_chain_exceeded`, `too_many_children`, `bus_full`.
   */
  create(request: TaskRequest): Promise<{ task: Task; existing: boolean; streamUrl: string }>;
  get(taskId: string): Promise<Task | null>;
  /** The task when it has ended, or as it is when the time is up or `signal` aborts. Throws `task_not_found`. */
  wait(taskId: string, limit: { timeoutMs: number; signal?: AbortSignal }): Promise<Task>;
  /** Tells the parent thread how the task goes. Throws `task_not_found`. */
  checkin(checkin: { taskId: string; message: string; toolUseId?: string | undefined }): Promise<void>;
}

export interface TaskRequest {
  prompt: string;
  model?: string | undefined;
  /** By whose profile the sub-agent works. Throws `agent_not_found`. */
  agent?: string | undefined;
  /** Qualified names; of these, the sub-agent has those that its parent has. */
  allowedTools?: readonly string[] | undefined;
  maxIterations?: number | undefined;
  /** Who does the work: a sub-agent (`fleet`, the default), or an external worker on the bus. */
  target?: Task['target'] | undefined;
  parentThreadId: string;
  toolUseId?: string | undefined;
  runId?: string | undefined;
  attempt?: number | undefined;
  principal: Principal;
}

/** JSON values by key, in a namespace of the plugin; shared by all processes of the fleet. */
export interface PluginStore {
  get(key: string): Promise<unknown>;
  set(key: string, value: unknown): Promise<void>;
  delete(key: string): Promise<void>;
}
