import { cutText, toAppError } from '@harness/contracts';
import { isInputRequired, type ToolOutcome } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';
import type { Caller } from '../http/authenticate.ts';
import type { ToolCall } from './tool-call.ts';

/** Where a call comes from, as far as it is known. */
export interface CallSource {
  threadId?: string | undefined;
  runId?: string | undefined;
}

/** Runs a call and writes one line about it, however it ends; `run` tells where the call comes from once it knows. */
export type ToolAudit = (
  caller: Caller,
  call: ToolCall,
  run: (from: (source: CallSource) => void) => Promise<ToolOutcome>,
) => Promise<ToolOutcome>;

/** Who called which tool and how it ended. Sizes, never what was said: arguments and results may hold secrets. */
export function createToolAudit(logger: Pick<Logger, 'info' | 'isLevelEnabled'>): ToolAudit {
  return async (caller, call, run) => {
    if (!logger.isLevelEnabled('info')) return run(() => undefined); // nobody reads it
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

/** `ok`; `input_required`; `tool_error` for a failure that the tool told itself; else the code of the error table. */
function outcomeOf(outcome: ToolOutcome): string {
  if (isInputRequired(outcome)) return 'input_required';
  if (!outcome.isError) return 'ok';
  const error = outcome._meta?.['harness/error'];
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'tool_error';
}

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/** Callers choose these words; the line stays a line. */
const shortened = (text: string | undefined) => text && cutText(text, 200);
