import { AppError, type ErrorCode, toAppError } from '@harness/contracts';
import type { PluginToolMeta, ToolResult } from '@harness/plugin-kit';
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

/** How a call's era reaches its client while it runs. */
export interface LiveCall {
  signal: AbortSignal;
  send(notification: ProgressNotification): Promise<void>;
}

export interface ProgressNotification {
  method: 'notifications/progress';
  params: { progressToken: string | number; progress: number; total?: number; message?: string };
}

export async function callFromMcp(
  tools: ToolCalls,
  caller: Caller,
  call: McpCall,
  live: LiveCall,
): Promise<ToolResult> {
  const text = (key: string) => {
    const value = call._meta?.[key];
    if (value !== undefined && typeof value !== 'string')
      throw new AppError('invalid_request', `_meta.${key} must be a string.`);
    return value;
  };
  return tools.call(caller, {
    name: call.name,
    door: 'mcp',
    arguments: call.arguments,
    threadId: text(threadIdKey),
    toolUseId: text(toolUseIdKey),
    signal: live.signal,
    progress: progressOf(call, live),
  });
}

/** Progress goes to those who asked for it by a token; one who has left is no failure of the tool. */
function progressOf({ _meta }: McpCall, live: LiveCall): PluginToolMeta['progress'] | undefined {
  const progressToken = _meta?.progressToken;
  if (typeof progressToken !== 'string' && typeof progressToken !== 'number') return undefined;
  return (progress, total, message) => {
    const params = {
      progressToken,
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    };
    live.send({ method: 'notifications/progress', params }).catch(() => undefined);
  };
}

export const serverInfo = { name: 'harness', version: '0.1.0' };
export const capabilities = { tools: {} };
