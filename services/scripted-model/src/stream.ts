/** Streamed model responses. */
import type { ServerResponse } from 'node:http';
import type { Reply, ReplyDeps } from './reply.ts';
import { messageOf, tokensOf, usageOf } from './wire.ts';

/**
 * Streams one message as server-sent events: message_start, then per block content_block_start, _delta …, _stop, then
 * message_delta and message_stop. Source: https://docs.anthropic.com/en/api/messages-streaming
 *
 * Sends nothing, not even headers, before the first content, so that the response can still become an error.
 */
export function createStreamReply({ response, inputTokens }: ReplyDeps): Reply {
  const message = messageOf([], usageOf(inputTokens, 1));
  const state = { started: false, inText: false, index: 0, characters: 0, usedTool: false };

  const start = () => {
    if (state.started) return;
    state.started = true;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    send(response, 'message_start', { message });
  };
  const closeText = () => {
    if (!state.inText) return;
    state.inText = false;
    send(response, 'content_block_stop', { index: state.index });
    state.index += 1;
  };
  const text = (delta: string) => {
    start();
    const { index } = state;
    if (!state.inText)
      send(response, 'content_block_start', { index, content_block: { type: 'text', text: '' } });
    state.inText = true;
    state.characters += delta.length;
    send(response, 'content_block_delta', { index, delta: { type: 'text_delta', text: delta } });
  };

  return {
    streams: true,
    text,
    use(block) {
      start();
      closeText();
      const { index } = state;
      const json = JSON.stringify(block.input);
      send(response, 'content_block_start', { index, content_block: { ...block, input: {} } });
      const delta = { type: 'input_json_delta', partial_json: json };
      send(response, 'content_block_delta', { index, delta });
      send(response, 'content_block_stop', { index });
      Object.assign(state, { index: index + 1, characters: state.characters + json.length, usedTool: true });
    },
    keepAlive() {
      start();
      send(response, 'ping', {});
    },
    cut() {
      // A cut in mid-stream needs a stream, so send a part of a text first.
      if (!state.inText) text('Cut');
      // Destroy after the flush, because a destroyed socket drops unsent data.
      response.write('', () => response.destroy());
    },
    end() {
      closeText();
      const delta = { stop_reason: state.usedTool ? 'tool_use' : 'end_turn', stop_sequence: null };
      send(response, 'message_delta', { delta, usage: usageOf(inputTokens, tokensOf(state.characters)) });
      send(response, 'message_stop', {});
      response.end();
    },
  };
}

const send = (response: ServerResponse, type: string, data: object): void => {
  response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
};
