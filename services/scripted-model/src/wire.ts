/** The shapes of the Messages API. */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';

/** A text of a model response. */
export interface TextBlock {
  type: 'text';
  text: string;
}
/** A tool call of a model response. */
export interface ToolUseBlock {
  type: 'tool_use';
  id: string;
  name: string;
  input: Record<string, unknown>;
}
/** The content of a response, streamed or not. */
export type ContentBlock = TextBlock | ToolUseBlock;

/** A typical value for English. */
const charactersPerToken = 4;

/** An estimate of the tokens of a text. */
export const tokensOf = (characters: number): number =>
  Math.max(1, Math.ceil(characters / charactersPerToken));

/** Makes a tool call with a new id. */
export const toolUseOf = (name: string, input: Record<string, unknown>): ToolUseBlock => ({
  type: 'tool_use',
  id: idOf('toolu'),
  name,
  input,
});

/** The `usage` of a message. */
export const usageOf = (inputTokens: number, outputTokens: number) => ({
  input_tokens: inputTokens,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: outputTokens,
});

/** A message; without content it is the one that starts a stream. */
export const messageOf = (content: ContentBlock[], usage: ReturnType<typeof usageOf>) => ({
  id: idOf('msg'),
  type: 'message',
  role: 'assistant',
  model: 'scripted-model',
  content,
  stop_reason: content.length === 0 ? null : stopReasonOf(content),
  stop_sequence: null,
  usage,
});

/** `tool_use` if the content has a tool call. */
export const stopReasonOf = (content: ContentBlock[]): 'tool_use' | 'end_turn' =>
  content.some((block) => block.type === 'tool_use') ? 'tool_use' : 'end_turn';

/** Sends a JSON response. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': idOf('req') });
  response.end(JSON.stringify(body));
}

/** Source: https://docs.anthropic.com/en/api/errors. Other statuses get the type of their class. */
const errorTypes: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** Sends an error in the shape of the Messages API. */
export function sendError(response: ServerResponse, status: number, message: string): void {
  const type = errorTypes[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  sendJson(response, status, { type: 'error', error: { type, message } });
}

const idOf = (prefix: string): string => `${prefix}_${randomBytes(12).toString('hex')}`;
