import { errorCodes, toAppError } from '@harness/contracts';
import { isInputRequired, type ToolOutcome } from '@harness/plugin-kit';
import type { Caller } from '../http/credentials/authenticate.ts';
import type { ToolCall } from '../tools/tool-call.ts';
import { type Audit, isRefusal, kept, toolCallAction } from './audit.ts';
import { auditSource } from './audit-source.ts';

/** The thread and run that a call comes from, as far as they are known. */
export interface CallSource {
  threadId?: string | undefined;
  runId?: string | undefined;
}

/** Runs a call and records it, however it ends. `run` reports the source of the call as soon as it is known. */
export type ToolAudit = (
  caller: Caller,
  call: ToolCall,
  run: (from: (source: CallSource) => void) => Promise<ToolOutcome>,
) => Promise<ToolOutcome>;

/**
 * Creates the audit of tool calls. Standard output and the file also get the call's source, duration and sizes; nothing gets
 * arguments or results, which may hold secrets.
 */
export function createToolAudit(audit: Audit): ToolAudit {
  return async (caller, call, run) => {
    if (call.transport === 'bus') return run(() => undefined); // recorded by its route, with the id of the bus task
    const begunAt = performance.now();
    let from: CallSource = { threadId: caller.session?.threadId ?? call.threadId };
    const record = (outcome: string, outputBytes: number) => {
      const source = auditSource.getStore();
      const about = {
        threadId: kept(from.threadId),
        runId: from.runId,
        toolUseId: kept(call.toolUseId),
        door: call.transport,
        durationMs: Math.round(performance.now() - begunAt),
        inputBytes: bytesOf(call.arguments ?? {}),
        outputBytes,
      };
      const entry = { caller: caller.principal, source, action: toolCallAction, target: call.name, outcome };
      audit.record(entry, about);
    };
    try {
      const result = await run((source) => {
        from = source;
      });
      record(outcomeOf(result), bytesOf(result));
      return result;
    } catch (thrown) {
      record(toAppError(thrown).code, 0);
      throw thrown;
    }
  };
}

/** `ok`, `input_required`, a code that a tool may have, or `tool_error` for any other failure. */
function outcomeOf(outcome: ToolOutcome): string {
  if (isInputRequired(outcome)) return 'input_required';
  if (!outcome.isError) return 'ok';
  const error = outcome._meta?.['harness/error'] as { code?: unknown } | null | undefined;
  const code = error?.code;
  return typeof code === 'string' && codesOfTools.has(code) ? code : 'tool_error';
}

/**
 * The codes that a failed result may have. A result is the plugin's own: with another text it could fill the audit, and with the
 * code of a refusal, or of an unknown tool, hide that the tool has run.
 */
const codesOfTools: ReadonlySet<string> = new Set(
  errorCodes.filter((code) => !isRefusal(code) && code !== 'tool_not_found'),
);

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
