import { AppError } from '@harness/contracts';
import type { Ledger } from '@harness/dispatch';
import { isInputRequired, type ToolOutcome, type ToolResult } from '@harness/plugin-kit';

/**
 * Longest result that the ledger keeps, characters; of a longer one it keeps only that the call has ended.
 */
const maxKeptChars = 100_000;

const errorResult = (text: string): ToolResult => ({ content: [{ type: 'text', text }], isError: true });

/**
 * Calls a tool that must not run twice. A repeat gets the first result, or an error if that result is
 * unknown. Throws `stale_epoch`.
 */
export async function runOnce(
  ledger: Ledger,
  { threadId, epoch, toolUseId }: { threadId: string; epoch: number; toolUseId: string },
  run: () => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const call = { threadId, epoch, toolUseId };
  const entry = await ledger.open(call);
  if (entry.outcome === 'done') return JSON.parse(entry.result) as ToolResult;
  if (entry.outcome === 'stale') throw new AppError('stale_epoch', 'This session no longer owns its thread.');
  if (entry.outcome === 'uncertain') {
    return errorResult(
      'Uncertain: this call was started before, and its outcome is unknown. Check whether it took effect before you try again.',
    );
  }
  const result = await run();
  if (isInputRequired(result)) return result; // does not happen: a session is never asked for input
  const text = JSON.stringify(result);
  const kept =
    text.length <= maxKeptChars
      ? text
      : JSON.stringify(errorResult('This call has already ended; its result was too long to be stored.'));
  await ledger.close(call, kept);
  return result;
}
