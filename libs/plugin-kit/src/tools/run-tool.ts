/** Runs one tool handler on validated input: time limit, cancellation, and the checks of its result. */
import { AppError } from '@harness/contracts';
import type {
  InputRequired,
  PluginContext,
  PluginToolMeta,
  ToolInput,
  ToolResult,
} from '../contract/contract.ts';
import type { CollectedTool } from '../host/collect.ts';
import { readableErrors } from '../schema/readable-errors.ts';
import type { SchemaCheck } from '../schema/schema.ts';
import { boundResult } from './bound-result.ts';
import { acceptInputRequired, isInputRequired } from './input-required.ts';
import { type Given, requestMetaOf } from './request-meta.ts';
import { type TimeLimit, withTimeLimit } from './time-limit.ts';
import { parseToolResult } from './tool-result.ts';

/** The caller's part of a handler's meta. Absent fields get a harmless default. */
export type ToolCallMeta = { threadId: string } & Given<PluginToolMeta>;

/** The outcome of a call: a result, or a request for input from the client. */
export type ToolOutcome = ToolResult | InputRequired;

/** One call of a handler. */
export interface ToolRun {
  tool: CollectedTool;
  checkOutput: SchemaCheck | undefined;
  ctx: PluginContext;
  input: ToolInput;
  meta: ToolCallMeta;
  timeoutMs: number;
}

/**
 * Runs a handler on validated input. Throws the handler's error, `tool_timeout`, `turn_cancelled` when the caller cancels,
 * `tool_failed` for a malformed result, or `capability_missing` when the client cannot handle a request for input.
 */
export async function runTool(run: ToolRun): Promise<ToolOutcome> {
  const { tool, checkOutput, ctx, input, meta, timeoutMs } = run;
  let ended = false;
  const progress: PluginToolMeta['progress'] = (...step) => {
    // MCP forbids progress after the result, and a tool may still run after its timeout.
    if (!ended) meta.progress?.(...step);
  };
  try {
    const returned = await withTimeLimit(timeLimitOf(tool, timeoutMs, meta.signal), (signal) =>
      tool.handler(ctx, input, handlerMetaOf(meta, { signal, progress })),
    );
    if (!isInputRequired(returned)) return parseOutput(boundResult(parseToolResult(returned)), checkOutput);
    return acceptInputRequired(returned, meta.capabilities ?? {});
  } catch (thrown) {
    if (!meta.signal?.aborted || thrown instanceof AppError) throw thrown;
    throw new AppError('turn_cancelled', 'The call was cancelled.', { cause: thrown });
  } finally {
    ended = true;
  }
}

/** The time limit of a tool's code; its error is `tool_timeout`. */
export const timeLimitOf = (
  { qualifiedName }: CollectedTool,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): TimeLimit => ({
  timeoutMs,
  timeoutError: () =>
    new AppError('tool_timeout', `${qualifiedName} took longer than ${timeoutMs} ms and was stopped.`),
  signal,
});

/** Builds the meta that a handler gets. */
export function handlerMetaOf(
  given: ToolCallMeta,
  live: Pick<PluginToolMeta, 'signal' | 'progress'>,
): PluginToolMeta {
  const { threadId, taskId, runId, toolUseId, attempt, releaseStream = () => undefined } = given;
  return {
    ...requestMetaOf(given, live.signal),
    threadId,
    ...(taskId === undefined ? {} : { taskId }),
    ...(runId === undefined ? {} : { runId }),
    ...(toolUseId === undefined ? {} : { toolUseId }),
    ...(attempt === undefined ? {} : { attempt }),
    progress: live.progress,
    releaseStream,
  };
}

/** Checks `structuredContent` here, because clients also check it and would throw without informing the author. */
function parseOutput(result: ToolResult, checkOutput: SchemaCheck | undefined): ToolResult {
  if (!checkOutput || result.isError) return result;
  if (result.structuredContent === undefined) {
    throw new AppError('tool_failed', 'The tool has an output schema and returned no structuredContent.');
  }
  const errors = checkOutput(result.structuredContent);
  if (errors.length === 0) return result;
  const message = `The tool's structured result does not match its output schema:\n${readableErrors(errors)}`;
  throw new AppError('tool_failed', message, { details: errors });
}
