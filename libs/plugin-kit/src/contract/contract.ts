/**
 * The contract of a plugin: its definition, its tools and its hooks. Plugins depend on this contract, never on one
 * another. Every function of a plugin may be sync or async. An error that it throws fails that call only.
 *
 * - `define.ts`           `definePlugin`, `defineTool`
 * - `contract-context.ts` `ctx`: what the host offers to a plugin
 * - `contract-request.ts` `meta` of a request; tool results, content blocks, requests for input
 * - `contract-served.ts`  resources, resource templates, prompts
 * - `contract-command.ts` slash commands
 * - `contract-bus.ts`     the bus of external workers
 * - `contract-values.ts`  schemas, inputs and `meta` of tools, which the others use
 */
import type { ErrorBody, RunKind, SessionPath } from '@harness/contracts';
import type { PluginCommand } from './contract-command.ts';
import type { PluginContext } from './contract-context.ts';
import type { InputRequired, ToolResult } from './contract-request.ts';
import type { PluginPrompt, PluginResource, PluginResourceTemplate } from './contract-served.ts';
import type { JsonSchema, MaybePromise, PluginToolMeta, ToolInput } from './contract-values.ts';

export type * from './contract-bus.ts';
export type * from './contract-command.ts';
export type * from './contract-context.ts';
export type * from './contract-request.ts';
export type * from './contract-served.ts';
export type * from './contract-values.ts';

/**
 * A plugin: the value that a module exports as `plugin` or `default`.
 *
 * @example
 * ```ts
 * export const plugin: PluginDefinition = {
 *   name: 'weather',
 *   version: '1.0.0',
 *   tools: [forecast],
 *   register: (ctx) => ({
 *     onAfterInvoke: (threadId) => ctx.logger.info({ threadId }, 'turn done'),
 *   }),
 * };
 * ```
 */
export interface PluginDefinition {
  /**
   * A letter, then letters, digits, `-` and `_`; at most 64 characters, without `__`. Unique in the fleet, because the
   * plugin's tools, store and log lines carry it.
   */
  name: string;
  version: string;
  /**
   * Called once per process, before `start`; returns the plugin's hooks. If it throws, the plugin is disabled and the
   * others run.
   */
  register(ctx: PluginContext): MaybePromise<PluginHooks | undefined> | MaybePromise<void>;
  /**
   * Called in every process after all plugins are registered; `ctx.role` is the kind of process. If it throws, the
   * plugin is disabled.
   */
  start?(ctx: PluginContext): MaybePromise<void>;
  /** Called when the process ends, in reverse plugin order. */
  stop?(ctx: PluginContext): MaybePromise<void>;
  /** Static, so that the host knows them before it runs any code of the plugin. */
  tools?: readonly PluginTool[];
  /** Static, like the tools. When two plugins offer the same URI, the first one keeps it. */
  resources?: readonly PluginResource[];
  resourceTemplates?: readonly PluginResourceTemplate[];
  prompts?: readonly PluginPrompt[];
  /**
   * How its tools are meant to be used together, for the models of MCP clients: a few sentences, at most 2,048 characters. A
   * client gets them under the plugin's name if it sees any of its tools.
   */
  instructions?: string;
  /** Slash commands for people. */
  commands?: readonly PluginCommand[];
  /**
   * `false`: tools and prompts have bare names, without `<plugin>__`. Allowed only for plugins that
   * HARNESS_UNPREFIXED_PLUGINS names, because a bare name may hide a name of another plugin.
   */
  prefix?: false;
  /** `true`: the plugin uses `ctx.global`, which all tenants share. `GET /v1/plugins` shows it to operators. */
  global?: boolean;
}

/**
 * A tool that agents and MCP clients can call.
 *
 * @example
 * ```ts
 * const forecast: PluginTool = {
 *   name: 'forecast',
 *   description: 'Tomorrow’s weather for a city.',
 *   schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
 *   handler: (_ctx, { city }) => `${city}: sunny`,
 * };
 * ```
 */
export interface PluginTool {
  /** `^[A-Za-z0-9_-]{1,64}$`, unique within the plugin; clients see `<plugin>__<name>`, at most 114 characters. */
  name: string;
  /** Written for the model: when to use the tool and what it returns. */
  description: string;
  /** Schema of the input object; `{}` allows any object. Enforced before the handler runs; no value is coerced. */
  schema: JsonSchema;
  /**
   * `true`: the handler forwards the call to a server that owns the schemas and enforces them, so the host only requires an
   * object and returns the server's result unchecked. An author's own tools leave it out.
   */
  isForwarded?: true;
  /** Further fields of the tool for MCP clients, such as `icons` and `_meta`. */
  extra?: Readonly<Record<string, unknown>>;
  /**
   * Runs in the gateway. It is declared as a method so that an author may narrow the type of `input` to what the schema
   * guarantees.
   */
  handler(ctx: PluginContext, input: ToolInput, meta: PluginToolMeta): MaybePromise<ToolReturn>;
  title?: string;
  /** Schema of `structuredContent`. A result that does not match becomes the failure `tool_failed`. */
  outputSchema?: JsonSchema;
  /** Hints for clients; the host does not enforce them. */
  annotations?: ToolAnnotations;
  /** Milliseconds until the call fails with `tool_timeout` and `meta.signal` aborts. Default 300 000. */
  timeoutMs?: number;
  /** Scope that a caller's key needs to see and call the tool. */
  scope?: string;
  /** The only tenants that see the tool. Default: all. */
  tenants?: readonly string[];
  /** `false`: for outside callers only; the sessions of threads do not see it. */
  sessions?: false;
  /**
   * true: calling twice has the same effect as calling once, so a caller may repeat a call whose result was lost.
   * false: a call must not run twice; a repeated call gets the first result, or an error that its outcome is unknown.
   */
  idempotent?: boolean;
  /**
   * Maps old names of input properties to their new names. They are rewritten before validation and never listed.
   */
  aliases?: Readonly<Record<string, string>>;
  /**
   * Allows a call to outlive its request: a client that supports MCP's tasks extension gets a task at once and fetches
   * the result later. Other clients wait for the result (`optional`) or are refused (`required`).
   */
  task?: 'optional' | 'required';
  /** Runs before such a task is created, within `timeoutMs`; may ask the client for input. */
  beforeTask?(
    ctx: PluginContext,
    input: ToolInput,
    meta: PluginToolMeta,
  ): MaybePromise<InputRequired | undefined> | MaybePromise<void>;
}

/**
 * What a handler returns. A string is short for a result with one text block.
 *
 * @example
 * ```ts
 * const text: ToolReturn = 'Bern: sunny';
 * const failure: ToolReturn = { content: [{ type: 'text', text: 'No such city.' }], isError: true };
 * ```
 */
export type ToolReturn = string | ToolResult | InputRequired;

/**
 * The type of a tool's `handler`, for a handler that is declared on its own.
 *
 * @example
 * ```ts
 * const forecast: PluginToolHandler<{ city: string }> = (_ctx, { city }) => `${city}: sunny`;
 * ```
 */
export type PluginToolHandler<Input = ToolInput> = (
  ctx: PluginContext,
  input: Input,
  meta: PluginToolMeta,
) => MaybePromise<ToolReturn>;

/**
 * MCP's hints about a tool. `idempotentHint` defaults to the tool's `idempotent`.
 *
 * @example
 * ```ts
 * const annotations: ToolAnnotations = { readOnlyHint: true, openWorldHint: true };
 * ```
 */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/**
 * One turn of a thread, as `onBeforeInvoke` sees it.
 *
 * @example
 * ```ts
 * const hooks: PluginHooks = {
 *   onBeforeInvoke: (_threadId, prompt, turn: PluginTurn) =>
 *     turn.finishedRuns === 0 ? `${prompt}\n\nIntroduce yourself first.` : prompt,
 * };
 * ```
 */
export interface PluginTurn {
  runId: string;
  /** How the turn got its session. */
  path: SessionPath;
  /** Number of earlier runs of this thread that have ended. */
  finishedRuns: number;
  kind: RunKind;
}

/**
 * The outcome of a review of a task's result. The sub-agent reads the feedback and tries again.
 *
 * @example
 * ```ts
 * const verdict: TaskVerdict = { accepted: false, feedback: 'The summary is missing.' };
 * ```
 */
export type TaskVerdict = { accepted: true } | { accepted: false; feedback: string };

/**
 * Hooks run in plugin order, each with a time limit, in the process where the event happens. A hook that throws is
 * logged with its plugin's name and does not fail the turn.
 *
 * @example
 * ```ts
 * const hooks: PluginHooks = {
 *   onBeforeInvoke: (_threadId, prompt) => `${prompt}\n\nAnswer in one paragraph.`,
 *   onTaskComplete: (_threadId, _taskId, result) =>
 *     result === '' ? { accepted: false, feedback: 'The result is empty.' } : { accepted: true },
 * };
 * ```
 */
export interface PluginHooks {
  onMessage?(threadId: string, role: 'user' | 'assistant' | 'system', content: string): MaybePromise<void>;
  /** Returns the prompt to use; each hook gets the prompt that the previous one returned. */
  onBeforeInvoke?(threadId: string, prompt: string, turn: PluginTurn): MaybePromise<string>;
  onAfterInvoke?(threadId: string, result: string): MaybePromise<void>;
  onTaskCreate?(threadId: string, taskId: string): MaybePromise<void>;
  /**
   * Reviews the result of a delegated task. Returning nothing accepts it. Unlike in other hooks, a throw, a timeout or a
   * malformed return value has an effect: the result is not accepted.
   */
  onTaskComplete?(
    threadId: string,
    taskId: string,
    result: string,
  ): MaybePromise<TaskVerdict | undefined> | MaybePromise<void>;
  onTaskFailed?(threadId: string, taskId: string, error: ErrorBody): MaybePromise<void>;
  /** Runs in every gateway, for each `ctx.broadcast`. */
  onBroadcast?(event: string, data: unknown): MaybePromise<void>;
}
