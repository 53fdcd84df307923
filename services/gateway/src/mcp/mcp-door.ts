import { AppError, type ErrorCode, toAppError } from '@harness/contracts';
import type { ToolResult } from '@harness/plugin-kit';
import type { Caller } from '../auth.ts';
import type { ToolCalls } from '../tool-calls.ts';

/** JSON-RPC codes of protocol faults; a tool's own failure is a result with `isError`. */
export const invalidParams = -32602;
const internalError = -32603;

const faults: Partial<Record<ErrorCode, number>> = {
  tool_not_found: invalidParams,
  invalid_request: invalidParams,
};

/** MCP's door: what a call that reached no tool becomes. Never the text of an unexpected failure. */
export function faultOf(thrown: unknown): { code: number; message: string; data: unknown } {
  const error = toAppError(thrown);
  const { message, ...data } = error.toBody();
  return { code: faults[error.code] ?? internalError, message, data };
}

/** One tools/call as either era sends it. */
export interface McpCall {
  name: string;
  arguments?: Record<string, unknown> | undefined;
  _meta?: Record<string, unknown> | undefined;
}

/** Which keys of `_meta` we read: the Agent SDK's id of the model's call, and the thread an outside caller names. */
const toolUseIdKey = 'claudecode/toolUseId';
const threadIdKey = 'harness/threadId';

export async function callFromMcp(
  tools: ToolCalls,
  caller: Caller,
  call: McpCall,
  live: {
    signal: AbortSignal;
    notify(progress: { progress: number; total?: number; message?: string }): void;
  },
): Promise<ToolResult> {
  const text = (key: string) => {
    const value = call._meta?.[key];
    if (value !== undefined && typeof value !== 'string')
      throw new AppError('invalid_request', `_meta.${key} must be a string.`);
    return value;
  };
  return tools.call(caller, {
    name: call.name,
    arguments: call.arguments,
    threadId: text(threadIdKey),
    toolUseId: text(toolUseIdKey),
    signal: live.signal,
    progress: (progress, total, message) =>
      live.notify({
        progress,
        ...(total === undefined ? {} : { total }),
        ...(message === undefined ? {} : { message }),
      }),
  });
}

export const serverInfo = { name: 'harness', version: '0.1.0' };
export const capabilities = { tools: {} };
