/**
 * The raw limit: a bare Fastify route with the same Ajv schema and a compiled serializer for its response. No
 * key, no checks.
 *
 * This folder:
 *   sdk1-session.ts SDK 1.x with a session per client
 *   sdk2-handler.ts SDK 2 with a handler per request
 */
import { fastify } from 'fastify';
import { echoed, echoSchema } from '../echo-tools.ts';

const app = fastify();
const text = { type: 'object', properties: { type: { type: 'string' }, text: { type: 'string' } } };
const result = { type: 'object', properties: { content: { type: 'array', items: text } } };
const answer = {
  type: 'object',
  properties: { jsonrpc: { type: 'string' }, id: { type: 'integer' }, result },
};
const body = {
  type: 'object',
  properties: { params: { type: 'object', properties: { arguments: echoSchema }, required: ['arguments'] } },
  required: ['params'],
};
interface Call {
  Body: { id: number; params: { arguments: { text: string; n: number } } };
}
app.post<Call>('/mcp', { schema: { body, response: { 200: answer } } }, async ({ body: call }) => ({
  jsonrpc: '2.0',
  id: call.id,
  result: { content: [{ type: 'text', text: echoed(call.params.arguments) }] },
}));
const url = await app.listen({ port: 0, host: '127.0.0.1' });
process.send?.({ ready: true, url });
