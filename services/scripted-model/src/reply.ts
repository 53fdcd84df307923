/** Where a model response is written to. */
import type { ServerResponse } from 'node:http';
import { type ContentBlock, messageOf, sendJson, type ToolUseBlock, tokensOf, usageOf } from './wire.ts';

/** Writes a model response: as one JSON body (`createJsonReply`) or as a stream of events (`createStreamReply`). */
export interface Reply {
  /** Whether the client can see pauses between texts. */
  streams: boolean;
  text(delta: string): void;
  use(block: ToolUseBlock): void;
  /** Sends a sign of life. */
  keepAlive(): void;
  /** Closes the connection in the middle of the response. */
  cut(): void;
  end(): void;
}

/** What a reply needs. */
export interface ReplyDeps {
  response: ServerResponse;
  inputTokens: number;
}

/** Collects the response and sends it at the end. */
export function createJsonReply({ response, inputTokens }: ReplyDeps): Reply {
  const content: ContentBlock[] = [];
  return {
    streams: false,
    text(delta) {
      const last = content.at(-1);
      if (last?.type === 'text') last.text += delta;
      else content.push({ type: 'text', text: delta });
    },
    use: (block) => void content.push(block),
    keepAlive: () => undefined,
    cut: () => void response.destroy(),
    end() {
      const outputTokens = tokensOf(JSON.stringify(content).length);
      sendJson(response, 200, messageOf(content, usageOf(inputTokens, outputTokens)));
    },
  };
}
