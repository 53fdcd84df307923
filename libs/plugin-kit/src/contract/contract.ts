/**
 * What a plugin is and what it may ask of its host. Plugins are written against this file alone and never know
 * one another. Every function of a plugin may be sync or async; whatever it throws stays its own failure.
 */
import type { ErrorBody, RunKind, SessionPath } from '@harness/contracts';
import type { PluginCommand } from './contract-command.ts';
import type { PluginContext } from './contract-context.ts';
import type { InputRequired, PluginRequestMeta, ToolResult } from './contract-request.ts';
import type { PluginPrompt, PluginResource, PluginResourceTemplate } from './contract-served.ts';

export type * from './contract-bus.ts';
export type * from './contract-command.ts';
export type * from './contract-context.ts';
export type * from './contract-request.ts';
export type * from './contract-served.ts';

export type MaybePromise<T> = T | Promise<T>;

/** JSON Schema 2020-12 as a plain object. It reaches clients unchanged, so it must be JSON. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface PluginDefinition {
  /**
   * A letter, then letters, digits, `-` and `_`, at most 64 and without `__`; unique in the fleet: it names the plugin's
   * tools, store and log lines.
   */
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
  /** What MCP clients may read; static like the tools. A URI belongs to the first plugin that offers it. */
  resources?: readonly PluginResource[];
  resourceTemplates?: readonly PluginResourceTemplate[];
  prompts?: readonly PluginPrompt[];
  /** What people may type after a slash. */
  commands?: readonly PluginCommand[];
  /**
   * `false`: tools and prompts go by their bare names. Only where the gateway's configuration names the plugin, since
   * a bare name may hide another's.
   */
  prefix?: false;
}

export interface PluginTool {
  /** `^[A-Za-z0-9_-]{1,64}$`, unique within the plugin; clients see `<plugin>__<name>`, at most 114 characters. */
  name: string;
  /** Written for the model: when to use it and what comes back. */
  description: string;
  /** Schema of the input object; `{}` means any object. Enforced before the handler runs; nothing is coerced. */
  schema: JsonSchema;
  /** Runs in the gateway. A method, so that an author may narrow `input` to what the schema guarantees. */
  handler(ctx: PluginContext, input: ToolInput, meta: PluginToolMeta): MaybePromise<ToolReturn>;
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
  /** Old names of properties of the input, each with the new one: rewritten before validation, and never listed. */
  aliases?: Readonly<Record<string, string>>;
  /**
   * The call may outlive its request: a client that knows MCP's tasks extension gets a task at once and looks for the
   * result later. `optional`: others wait for the result. `required`: others are refused.
   */
  task?: 'optional' | 'required';
  /** Asks for what is needed before such a task is made, within `timeoutMs`. */
  beforeTask?(
    ctx: PluginContext,
    input: ToolInput,
    meta: PluginToolMeta,
  ): MaybePromise<InputRequired | undefined> | MaybePromise<void>;
}

/** A string is short for one text block. */
export type ToolReturn = string | ToolResult | InputRequired;

export type ToolInput = Record<string, unknown>;

export type PluginToolHandler<Input = ToolInput> = (
  ctx: PluginContext,
  input: Input,
  meta: PluginToolMeta,
) => MaybePromise<ToolReturn>;

export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** Where a call comes from. Ids come from the caller's token, never from the model's arguments. */
export interface PluginToolMeta extends PluginRequestMeta {
  /** The thread that called; for an outside caller the one it named, or the default thread of its key. */
  threadId: string;
  /** Set when the thread works on a delegated task. */
  taskId?: string;
  runId?: string;
  /** Id of the model's tool call; unique within the thread. */
  toolUseId?: string;
  /** Which try of the run this is, from 1; more than 1 after a crash. */
  attempt?: number;
  /** Seen live by the caller; calls after the end are dropped. */
  progress(done: number, total?: number, message?: string): void;
  /** Lets a client of MCP 2025-11-25 go that waits on an open stream: it comes back for the rest. Elsewhere nothing. */
  releaseStream(): void;
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
