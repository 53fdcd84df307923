import { AppError } from '@harness/contracts';
import { boundResult } from './bound-result.ts';
import type { CollectedTool } from './collect.ts';
import type { PluginContext, PluginToolMeta, Principal, ToolInput, ToolResult } from './contract.ts';
import { readableErrors, type SchemaCheck } from './schema.ts';
import { withTimeLimit } from './time-limit.ts';
import { parseToolResult } from './tool-result.ts';

/** The caller's part of a handler's meta; what is absent gets a harmless default. */
export type ToolCallMeta = { threadId: string } & {
  [Field in keyof PluginToolMeta]?: PluginToolMeta[Field] | undefined;
};

export interface ToolRun {
  tool: CollectedTool;
  checkOutput: SchemaCheck | undefined;
  ctx: PluginContext;
  input: ToolInput;
  meta: ToolCallMeta;
  timeoutMs: number;
}

/** Runs a handler on checked input. Throws what the handler throws, `tool_timeout`, `turn_cancelled` or `tool_failed`. */
export async function runTool(run: ToolRun): Promise<ToolResult> {
  const { tool, checkOutput, ctx, input, meta, timeoutMs } = run;
  const timeoutError = () =>
    new AppError('tool_timeout', `${tool.qualifiedName} took longer than ${timeoutMs} ms and was stopped.`);
  let ended = false;
  const progress: PluginToolMeta['progress'] = (...step) => {
    // MCP forbids progress after the answer, and a tool that ran out of time may still be talking.
    if (!ended) meta.progress?.(...step);
  };
  try {
    const returned = await withTimeLimit({ timeoutMs, timeoutError, signal: meta.signal }, (signal) =>
      tool.handler(ctx, input, handlerMetaOf(meta, { signal, progress })),
    );
    return parseOutput(boundResult(parseToolResult(returned)), checkOutput);
  } catch (thrown) {
    if (!meta.signal?.aborted || thrown instanceof AppError) throw thrown;
    throw new AppError('turn_cancelled', 'The call was cancelled.', { cause: thrown });
  } finally {
    ended = true;
  }
}

/** Callers that stand for no key: the process itself, and tests. */
const nobody: Principal = Object.freeze({ keyId: 'none', tenant: 'default', scopes: Object.freeze([]) });

function handlerMetaOf(
  { threadId, taskId, runId, toolUseId, attempt, principal = nobody }: ToolCallMeta,
  live: Pick<PluginToolMeta, 'signal' | 'progress'>,
): PluginToolMeta {
  return {
    threadId,
    ...(taskId === undefined ? {} : { taskId }),
    ...(runId === undefined ? {} : { runId }),
    ...(toolUseId === undefined ? {} : { toolUseId }),
    ...(attempt === undefined ? {} : { attempt }),
    principal,
    ...live,
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
