import { cutText, toAppError } from '@harness/contracts';
import { isInputRequired, type ToolOutcome } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';
import type { Caller } from '../http/authenticate.ts';
import type { ToolCall } from './tool-call.ts';

/** The thread and run that a call comes from, as far as they are known. */
export interface CallSource {
  threadId?: string | undefined;
  runId?: string | undefined;
}

/**
 * Runs a call and logs one line about it, however it ends. `run` reports the source of the call as soon as it
 * is known.
 */
export type ToolAudit = (
  caller: Caller,
  call: ToolCall,
  run: (from: (source: CallSource) => void) => Promise<ToolOutcome>,
) => Promise<ToolOutcome>;

/**
 * Creates the audit log: caller, tool, duration, outcome and sizes. Never arguments or results: they may hold
 * secrets.
 */
export function createToolAudit(logger: Pick<Logger, 'info' | 'isLevelEnabled'>): ToolAudit {
  return async (caller, call, run) => {
    if (!logger.isLevelEnabled('info')) return run(() => undefined); // audit lines have level info
    const begunAt = performance.now();
    let source: CallSource = { threadId: caller.session?.threadId ?? call.threadId };
    const write = (outcome: string, outputBytes: number) => {
      const { tenant, keyId } = caller.principal;
      const line = {
        audit: true,
        tool: shortened(call.name),
        tenant,
        keyId,
        threadId: shortened(source.threadId),
        runId: source.runId,
        toolUseId: shortened(call.toolUseId),
        door: call.door,
        durationMs: Math.round(performance.now() - begunAt),
        outcome,
        inputBytes: bytesOf(call.arguments ?? {}),
        outputBytes,
      };
      logger.info(line, 'tool call');
    };
    try {
      const result = await run((from) => {
        source = from;
      });
      write(outcomeOf(result), bytesOf(result));
      return result;
    } catch (thrown) {
      write(toAppError(thrown).code, 0);
      throw thrown;
    }
  };
}

/** `ok`, `input_required`, the code of the error table, or `tool_error` for a failure without a code. */
function outcomeOf(outcome: ToolOutcome): string {
  if (isInputRequired(outcome)) return 'input_required';
  if (!outcome.isError) return 'ok';
  const error = outcome._meta?.['harness/error'];
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'tool_error';
}

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/** Limits values that callers choose. */
const shortened = (text: string | undefined) => text && cutText(text, 200);
