import type { PluginRequestMeta } from './contract-request.ts';

/**
 * A value, or a promise of it.
 *
 * @example
 * ```ts
 * const cityOf = (known: string | undefined): MaybePromise<string> => known ?? ctx.invoker.invoke('Name a city.');
 * ```
 */
export type MaybePromise<T> = T | Promise<T>;

/**
 * JSON Schema 2020-12 as a plain object. Clients get it unchanged, so it must be JSON.
 *
 * @example
 * ```ts
 * const schema: JsonSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
 * ```
 */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * The input of a tool call; it has passed the tool's schema.
 *
 * @example
 * ```ts
 * const input: ToolInput = { city: 'Bern' };
 * const forecast = await ctx.tools.call('weather__forecast', input);
 * ```
 */
export type ToolInput = Record<string, unknown>;

/**
 * Where a tool call comes from. The ids come from the caller's token, never from the model's arguments.
 *
 * @example
 * ```ts
 * handler: async (_ctx, _input, meta) => {
 *   meta.progress(1, 2, 'half done');
 *   return `called by ${meta.threadId}`;
 * },
 * ```
 */
export interface PluginToolMeta extends PluginRequestMeta {
  /** The calling thread; for an outside caller the thread it named, or the default thread of its key. */
  threadId: string;
  /** Present when the thread works on a delegated task. */
  taskId?: string;
  runId?: string;
  /** Id of the model's tool call; unique within the thread. */
  toolUseId?: string;
  /** Number of the run's current attempt, from 1; greater than 1 after a crash. */
  attempt?: number;
  /** Reports progress to the caller; ignored after the call has ended. */
  progress(done: number, total?: number, message?: string): void;
  /** Closes the open SSE stream so that the client can resume later (MCP 2025-11-25 only; otherwise a no-op). */
  releaseStream(): void;
}
