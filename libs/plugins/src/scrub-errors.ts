import { isInputRequired, type ToolMiddleware } from '@harness/plugin-kit';
import type { Scrubber } from '@harness/runtime';

/**
 * Replaces secrets in results of tools that failed, before they leave the process: an exception may quote the credential that
 * was refused. Results of tools that succeeded are not changed.
 */
export const scrubErrors = (scrubber: Scrubber): ToolMiddleware => ({
  name: 'scrub-errors',
  afterCall: (_call, outcome) =>
    isInputRequired(outcome) || !outcome.isError ? outcome : scrubber.json(outcome),
});
