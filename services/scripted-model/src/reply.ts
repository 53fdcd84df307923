import type { ServerResponse } from 'node:http';
import { type ContentBlock, messageOf, sendJson, type ToolUseBlock, tokensOf, usageOf } from './wire.ts';

/** Where an answer goes: one JSON body (`createJsonReply`) or a stream of events (`createStreamReply`). */
export interface Reply {
  /** False: there is no reader who could see time pass between two texts. */
  streams: boolean;
  text(delta: string): void;
  use(block: ToolUseBlock): void;
  /** Tells the reader that the answer is still to come. */
  keepAlive(): void;
  /** Ends the connection in the midst of the answer. */
  cut(): void;
  end(): void;
}

export interface ReplyDeps {
  response: ServerResponse;
  inputTokens: number;
}

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
