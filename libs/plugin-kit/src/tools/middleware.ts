import type { MaybePromise, ToolInput } from '../contract/contract.ts';
import type { ToolCallMeta, ToolOutcome } from './run-tool.ts';
import type { ToolDescriptor } from './tool-descriptor.ts';
import type { ToolView } from './tool-entry.ts';

/** Code that runs around every tool call. */
export interface ToolMiddleware {
  name: string;
  /** Filters the tools that a caller sees and may call. Called once for each view of a snapshot. */
  filterTools?(tools: readonly ToolDescriptor[], view: ToolView): readonly ToolDescriptor[];
  /**
   * Runs after the input is validated, and may replace it. A thrown error becomes the call's failure; the handler does
   * not run.
   */
  beforeCall?(call: {
    readonly tool: string;
    input: ToolInput;
    readonly meta: ToolCallMeta;
  }): MaybePromise<void>;
  /** Runs on every outcome, including failures. Returns the outcome to use. */
  afterCall?(
    call: { readonly tool: string; readonly meta: ToolCallMeta },
    outcome: ToolOutcome,
  ): MaybePromise<ToolOutcome>;
}
