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
import { checkInputRequired, isInputRequired } from './input-required.ts';
import { type Given, requestMetaOf } from './request-meta.ts';
import { type TimeLimit, withTimeLimit } from './time-limit.ts';
import { parseToolResult } from './tool-result.ts';

/** The caller's part of a handler's meta; what is absent gets a harmless default. */
export type ToolCallMeta = { threadId: string } & Given<PluginToolMeta>;

/** What a call came to: a result, or a question to the client. */
export type ToolOutcome = ToolResult | InputRequired;

export interface ToolRun {
  tool: CollectedTool;
  checkOutput: SchemaCheck | undefined;
  ctx: PluginContext;
  input: ToolInput;
  meta: ToolCallMeta;
  timeoutMs: number;
}

/**
 * Runs a handler on checked input. Throws what the handler throws, `tool_timeout`, `turn_cancelled`, `tool_failed`, or
 * `capability_missing` when it asks a client that cannot be asked.
 */
export async function runTool(run: ToolRun): Promise<ToolOutcome> {
  const { tool, checkOutput, ctx, input, meta, timeoutMs } = run;
  let ended = false;
  const progress: PluginToolMeta['progress'] = (...step) => {
    // MCP forbids progress after the answer, and a tool that ran out of time may still be talking.
    if (!ended) meta.progress?.(...step);
  };
  try {
    const returned = await withTimeLimit(timeLimitOf(tool, timeoutMs, meta.signal), (signal) =>
      tool.handler(ctx, input, handlerMetaOf(meta, { signal, progress })),
    );
    if (!isInputRequired(returned)) return parseOutput(boundResult(parseToolResult(returned)), checkOutput);
    checkInputRequired(returned, meta.capabilities ?? {});
    return returned;
  } catch (thrown) {
    if (!meta.signal?.aborted || thrown instanceof AppError) throw thrown;
    throw new AppError('turn_cancelled', 'The call was cancelled.', { cause: thrown });
  } finally {
    ended = true;
  }
}

/** For a tool's code; its end is `tool_timeout`. */
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

/** As a handler sees it. */
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

/** Clients check `structuredContent` against the listed schema and throw: better that the tool's author hears it. */
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
