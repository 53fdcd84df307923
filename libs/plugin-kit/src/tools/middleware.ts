import type { MaybePromise, ToolInput } from '../contract/contract.ts';
import type { ToolCallMeta, ToolOutcome } from './run-tool.ts';
import type { ToolDescriptor } from './tool-descriptor.ts';
import type { ToolView } from './tool-server.ts';

/** What stands between callers and every tool. */
export interface ToolMiddleware {
  name: string;
  /** What a caller does not see it cannot call. Asked once for each view of one snapshot. */
  filterTools?(tools: readonly ToolDescriptor[], view: ToolView): readonly ToolDescriptor[];
  /** On checked input, which it may replace; a throw becomes the call's failure, and the handler does not run. */
  beforeCall?(call: {
    readonly tool: string;
    input: ToolInput;
    readonly meta: ToolCallMeta;
  }): MaybePromise<void>;
  /** On whatever came out, failures too; returns what goes on. */
  afterCall?(
    call: { readonly tool: string; readonly meta: ToolCallMeta },
    outcome: ToolOutcome,
  ): MaybePromise<ToolOutcome>;
}
