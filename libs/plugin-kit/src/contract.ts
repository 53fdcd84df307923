/**
 * What a plugin is and what it may ask of its host. Plugins are written against this file alone and never know
 * one another. Every function of a plugin may be sync or async; whatever it throws stays its own failure.
 */
import type { ErrorBody, RunKind, SessionPath, Task, Thread } from '@harness/contracts';

export type MaybePromise<T> = T | Promise<T>;

/** JSON Schema 2020-12 as a plain object. It reaches clients unchanged, so it must be JSON. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface PluginDefinition {
  /** `^[a-z][a-z0-9-]{0,31}$`, unique in the fleet: it names the plugin's tools, store and log lines. */
  name: string;
  version: string;
  /** Called once per process, before `start`. A throw disables the plugin; the others run. */
  register(ctx: PluginContext): MaybePromise<PluginHooks | undefined> | MaybePromise<void>;
  /** Runs in every process after all plugins are registered; `ctx.role` says which. A throw disables the plugin. */
  start?(ctx: PluginContext): MaybePromise<void>;
  /** Runs in reverse order when the process ends. */
  stop?(ctx: PluginContext): MaybePromise<void>;
  /** Static, so that the list is known before anything runs. A plugin without tools is a plugin like any other. */
  tools?: readonly PluginTool[];
}

export interface PluginTool {
  /** `^[A-Za-z0-9_-]{1,64}$`, unique within the plugin; clients see `<plugin>__<name>`. */
  name: string;
  /** Written for the model: when to use it and what comes back. */
  description: string;
  /** Schema of the input object; `{}` means any object. Enforced before the handler runs; nothing is coerced. */
  schema: JsonSchema;
  /** Runs in the gateway. A method, so that an author may narrow `input` to what the schema guarantees. */
  handler(ctx: PluginContext, input: ToolInput, meta: PluginToolMeta): MaybePromise<string | ToolResult>;
  title?: string;
  /** Schema of `structuredContent`; a result that does not match becomes a failure of the tool. */
  outputSchema?: JsonSchema;
  /** Hints for clients; nothing is enforced by them. */
  annotations?: ToolAnnotations;
  /** Milliseconds until the call ends as `tool_timeout` and `meta.signal` aborts. Default 300 000. */
  timeoutMs?: number;
  /** Scope a caller's key needs to see and call the tool. */
  scope?: string;
  /**
   * true: the same call twice does what one does, so a caller may repeat it when the answer was lost.
   * false: it must not run twice; a repeat gets the first answer, or is told that the outcome is unknown.
   */
  idempotent?: boolean;
}

export type ToolInput = Record<string, unknown>;

export type PluginToolHandler<Input = ToolInput> = (
  ctx: PluginContext,
  input: Input,
  meta: PluginToolMeta,
) => MaybePromise<string | ToolResult>;

export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** A string result is short for one text block. The model sees `structuredContent` in place of text where both are. */
export interface ToolResult {
  content: ContentBlock[];
  structuredContent?: Record<string, unknown>;
  /** The tool ran and failed; the content says why, in words for the model. */
  isError?: boolean;
  /** Host's own key: `harness/error` = `{code, message, details?}` with a code of the error table. */
  _meta?: Record<string, unknown>;
}

/** MCP's content blocks; binary data is base64. */
export type ContentBlock = (
  | { type: 'text'; text: string }
  | { type: 'image'; data: string; mimeType: string }
  | { type: 'audio'; data: string; mimeType: string }
  | {
      type: 'resource_link';
      uri: string;
      name: string;
      title?: string;
      description?: string;
      mimeType?: string;
      size?: number;
    }
  | { type: 'resource'; resource: EmbeddedResource }
) & { annotations?: Record<string, unknown>; _meta?: Record<string, unknown> };

export type EmbeddedResource = { uri: string; mimeType?: string; _meta?: Record<string, unknown> } & (
  | { text: string }
  | { blob: string }
);

/** Who calls: a key of a tenant. */
export interface Principal {
  keyId: string;
  tenant: string;
  scopes: readonly string[];
}

/** Where a call comes from. Ids come from the caller's token, never from the model's arguments. */
export interface PluginToolMeta {
  /** The thread that called; for an outside caller the one it named, or the default thread of its key. */
  threadId: string;
  /** Set when the thread works on a delegated task. */
  taskId?: string;
  runId?: string;
  /** Id of the model's tool call; unique within the thread. */
  toolUseId?: string;
  /** Which try of the run this is, from 1; more than 1 after a crash. */
  attempt?: number;
  principal: Principal;
  /** Aborts when the caller cancels or the time limit passes. */
  signal: AbortSignal;
  /** Seen live by the caller; calls after the end are dropped. */
  progress(done: number, total?: number, message?: string): void;
}

/** One turn of a thread, as `onBeforeInvoke` sees it. */
export interface PluginTurn {
  runId: string;
  /** How the turn came to its session. */
  path: SessionPath;
  /** Runs of this thread that have ended before this one. */
  finishedRuns: number;
  kind: RunKind;
}

/** The answer to a finished task; feedback goes back to the sub-agent, in words for the model. */
export type TaskVerdict = { accepted: true } | { accepted: false; feedback: string };

/**
 * Hooks run in plugin order, each with a time limit, where their event happens. A hook that throws is logged with
 * its plugin's name and never breaks the turn.
 */
export interface PluginHooks {
  onMessage?(threadId: string, role: 'user' | 'assistant' | 'system', content: string): MaybePromise<void>;
  /** Returns the prompt to use; each hook gets what the one before returned. */
  onBeforeInvoke?(threadId: string, prompt: string, turn: PluginTurn): MaybePromise<string>;
  onAfterInvoke?(threadId: string, result: string): MaybePromise<void>;
  onTaskCreate?(threadId: string, taskId: string): MaybePromise<void>;
  /** Nothing = accepted. Unlike elsewhere, a throw, a time-out or a malformed answer counts: as not accepted. */
  onTaskComplete?(
    threadId: string,
    taskId: string,
    result: string,
  ): MaybePromise<TaskVerdict | undefined> | MaybePromise<void>;
  onTaskFailed?(threadId: string, taskId: string, error: ErrorBody): MaybePromise<void>;
  onBroadcast?(event: string, data: unknown): MaybePromise<void>;
}

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
  tools: {
    /** Calls a tool by its qualified name. Throws `tool_not_found`; the tool's own failure is a result. */
    call(name: string, input: ToolInput): Promise<ToolResult>;
  };
  store: PluginStore;
  /** Reaches `onBroadcast` of every plugin in every gateway; `data` must be JSON. */
  broadcast(event: string, data: unknown): Promise<void>;
}

/** The part of a logger that plugins use; pino fits. */
export interface PluginLogger {
  debug: PluginLogLine;
  info: PluginLogLine;
  warn: PluginLogLine;
  error: PluginLogLine;
}
/** `(message)`, or fields and a message; an error goes in the field `err`. */
export type PluginLogLine = (objOrMsg: object | string, msg?: string) => void;

export interface Invoker {
  /**
   * One question to a model; resolves with the text of its answer.
   * Throws `invoke_timeout` when `timeout` passes and `model_error` when the model fails.
   */
  invoke(prompt: string, options?: InvokeOptions): Promise<string>;
}

/** Calls with the same session key share one conversation: key = `threadId ?? sessionId ?? 'default'`. */
export interface InvokeOptions {
  model?: string;
  sessionId?: string;
  threadId?: string;
  /** Milliseconds. */
  timeout?: number;
  /** Called while the answer streams in. */
  onMessage?(message: InvokeMessage): void;
}

/** `delta` = a piece of text as it comes; `message` = a whole message of the model. */
export interface InvokeMessage {
  type: 'delta' | 'message';
  text: string;
}

export interface PluginThreads {
  get(threadId: string): Promise<Thread | null>;
  /** The last `limit` messages, oldest first. */
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
   * Throws `thread_not_found`, `task_depth_exceeded`, `task_chain_exceeded`, `too_many_children`.
   */
  create(request: TaskRequest): Promise<{ task: Task; existing: boolean; streamUrl: string }>;
  get(taskId: string): Promise<Task | null>;
  /** Tells the parent thread how the task goes. Throws `task_not_found`. */
  checkin(checkin: { taskId: string; message: string; toolUseId?: string | undefined }): Promise<void>;
}

export interface TaskRequest {
  prompt: string;
  model?: string | undefined;
  maxIterations?: number | undefined;
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
