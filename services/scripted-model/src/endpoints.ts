/** The two endpoints of the Messages API. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { parseBody, readBody } from './body.ts';
import { readConversation } from './conversation.ts';
import type { Failures } from './failures.ts';
import { failureOf, perform } from './perform.ts';
import { planOf } from './plan.ts';
import { createJsonReply } from './reply.ts';
import { messagesRequest } from './request.ts';
import { createStreamReply } from './stream.ts';
import { sendError, sendJson, tokensOf } from './wire.ts';

/** POST /v1/messages: reads the conversation, plans the response and executes the plan. */
export async function answerMessages(
  request: IncomingMessage,
  response: ServerResponse,
  failures: Failures,
): Promise<void> {
  const body = await readBody(request);
  const { messages, stream, metadata, tools = [] } = parseBody(messagesRequest, body);
  const toolNames = tools.flatMap(({ name }) => name ?? []);
  const plan = planOf(readConversation(messages, toolNames));
  const session = String(request.headers['x-claude-code-session-id'] ?? metadata?.user_id ?? '');
  const signal = goneSignalOf(response);
  const failure = failureOf(plan, failures, session);
  try {
    if (failure) {
      await delay(failure.afterMs, undefined, { signal });
      return sendError(response, failure.status, failure.message);
    }
    const createReply = stream ? createStreamReply : createJsonReply;
    const reply = createReply({ response, inputTokens: tokensOf(body.length) });
    await perform(plan, { reply, signal });
  } catch (error) {
    if (!signal.aborted) throw error; // otherwise the client has disconnected, which is not an error
  }
}

/** POST /v1/messages/count_tokens: returns an estimate. */
export async function answerCount(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readBody(request);
  parseBody(messagesRequest, body);
  sendJson(response, 200, { input_tokens: tokensOf(body.length) });
}

/** Aborts when the connection closes, so that a sleeping or hanging response ends when its client disconnects. */
function goneSignalOf(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => controller.abort());
  if (response.destroyed) controller.abort();
  return controller.signal;
}
