import type { SDKMessage, SDKResultMessage } from '@anthropic-ai/claude-agent-sdk';
import type { ModelUse, Usage } from '@harness/contracts';

/** Use of one model in a turn. */
export type TurnUse = Omit<ModelUse, 'agent' | 'tenant'>;

/** One request to the model. */
export interface ModelRequest {
  model: string;
  /** Times of the clock, ms. */
  startMs: number;
  firstTokenMs: number;
  endMs: number;
  inputTokens: number;
  outputTokens: number;
  stopReason: string | null;
}

/** What a session's turns used, counted over its life. */
export interface UsageMeter {
  /** A prompt was sent. */
  beginTurn(): void;
  /** Records the model requests of the turn. */
  see(message: SDKMessage): void;
  /** The use of the turn that this result ends, in total and by model. */
  endTurn(result: SDKResultMessage): TurnUsage;
}

/** The use of one turn. */
export interface TurnUsage {
  usage: Usage;
  models: TurnUse[];
  requests: ModelRequest[];
}

/** Most requests of a turn that are recorded one by one. */
const maxRequests = 200;

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
  let counts = new Map<string, number>();
  let requests: ModelRequest[] = [];
  /** The request whose response is being streamed. */
  let open: ModelRequest | undefined;
  /** When the model was given something to respond to: the prompt, or results of tools. */
  let givenMs = Date.now();
  const seeEvent = (event: StreamEvent) => {
    if (event.type === 'message_start') {
      const { model, usage } = event.message;
      counts.set(model, (counts.get(model) ?? 0) + 1);
      const now = Date.now();
      open = {
        model,
        startMs: givenMs,
        firstTokenMs: now,
        endMs: now,
        inputTokens: inputOf(usage),
        outputTokens: 0,
        stopReason: null,
      };
    } else if (event.type === 'message_delta' && open) {
      open.outputTokens = event.usage.output_tokens;
      open.stopReason = event.delta.stop_reason;
    } else if (event.type === 'message_stop' && open) {
      open.endMs = Date.now();
      if (requests.length < maxRequests) requests.push(open);
      open = undefined;
    }
  };
  return {
    beginTurn() {
      givenMs = Date.now();
      requests = [];
    },
    see(message) {
      if (message.type === 'user') givenMs = Date.now();
      else if (message.type === 'stream_event') seeEvent(message.event);
    },
    endTurn(result) {
      const { model_usage_since_last_result: since } = result as {
        model_usage_since_last_result?: SinceLastResult;
      };
      const costBefore = totalCostUsd;
      totalCostUsd = result.total_cost_usd;
      const counted = counts;
      counts = new Map();
      open = undefined;
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
      return { usage: since ? sumOf(models) : totalsOf(result, costBefore), models, requests };
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
  return {
    inputTokens: inputOf(usage),
    outputTokens: usage.output_tokens,
    costUsd: Math.max(0, total_cost_usd - costBefore),
  };
}

type StreamEvent = Extract<SDKMessage, { type: 'stream_event' }>['event'];

interface InputUsage {
  input_tokens: number;
  cache_read_input_tokens?: number | null;
  cache_creation_input_tokens?: number | null;
}
const inputOf = ({ input_tokens, cache_read_input_tokens, cache_creation_input_tokens }: InputUsage) =>
  input_tokens + (cache_read_input_tokens ?? 0) + (cache_creation_input_tokens ?? 0);
