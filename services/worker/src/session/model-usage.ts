import type { SDKMessage, SDKResultMessage } from '@anthropic-ai/claude-agent-sdk';
import type { ModelUse, Usage } from '@harness/contracts';

/** Use of one model in a turn. */
export type TurnUse = Omit<ModelUse, 'agent' | 'tenant'>;

/** What a session's turns used, counted over its life. */
export interface UsageMeter {
  /** Counts the model requests of the turn. */
  see(message: SDKMessage): void;
  /** The use of the turn that this result ends, in total and by model. */
  endTurn(result: SDKResultMessage): { usage: Usage; models: TurnUse[] };
}

/** Of the result: usage by model since the previous result. Typed by us: sdk.d.ts does not have it. */
type SinceLastResult = Record<
  string,
  {
    inputTokens?: number;
    outputTokens?: number;
    cacheReadInputTokens?: number;
    cacheCreationInputTokens?: number;
    costUSD?: number;
  }
>;

/** Creates the meter of one session. */
export function createUsageMeter(): UsageMeter {
  let totalCostUsd = 0;
  let requests = new Map<string, number>();
  return {
    see(message) {
      if (message.type !== 'stream_event' || message.event.type !== 'message_start') return;
      const { model } = message.event.message;
      requests.set(model, (requests.get(model) ?? 0) + 1);
    },
    endTurn(result) {
      const { model_usage_since_last_result: since } = result as {
        model_usage_since_last_result?: SinceLastResult;
      };
      const costBefore = totalCostUsd;
      totalCostUsd = result.total_cost_usd;
      const counted = requests;
      requests = new Map();
      const models = Object.entries(since ?? {}).map(([model, used]): TurnUse => {
        const {
          inputTokens = 0,
          outputTokens = 0,
          cacheReadInputTokens = 0,
          cacheCreationInputTokens = 0,
        } = used;
        return {
          model,
          requests: takeFrom(counted, model),
          inputTokens: inputTokens + cacheReadInputTokens + cacheCreationInputTokens,
          outputTokens,
          costUsd: used.costUSD ?? 0,
        };
      });
      // A response may name its model otherwise than the request did: by an alias, or with a date.
      const rest = [...counted.values()].reduce((sum, count) => sum + count, 0);
      if (models[0]) models[0].requests += rest;
      return { usage: since ? sumOf(models) : totalsOf(result, costBefore), models };
    },
  };
}

function takeFrom(counts: Map<string, number>, name: string): number {
  const count = counts.get(name) ?? 0;
  counts.delete(name);
  return count;
}

const sumOf = (models: readonly TurnUse[]): Usage => ({
  inputTokens: models.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
  outputTokens: models.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
  costUsd: models.reduce((sum, { costUsd }) => sum + costUsd, 0),
});

/**
 * The usage of the turn from the result's own fields, where usage by model is missing. After an interrupt they say 0. The
 * difference of the total costs may include earlier processes after a resume.
 */
function totalsOf({ usage, total_cost_usd }: SDKResultMessage, costBefore: number): Usage {
  const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } = usage;
  return {
    inputTokens: input_tokens + (cache_read_input_tokens ?? 0) + (cache_creation_input_tokens ?? 0),
    outputTokens: output_tokens,
    costUsd: Math.max(0, total_cost_usd - costBefore),
  };
}
