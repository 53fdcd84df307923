import { once } from 'node:events';
import { expect, it } from 'vitest';
import type { PluginTool } from '../contract/contract.ts';
import { collectTools } from '../host/collect.ts';
import { needInput } from './input-required.ts';
import { createToolServer } from './tool-server.ts';

function serverOf(parts: Partial<PluginTool>) {
  const tool: PluginTool = { name: 't', description: 'x', schema: {}, handler: () => 'x', ...parts };
  const server = createToolServer(
    collectTools([{ name: 'p', version: '1', register: () => undefined, tools: [tool] }]),
  );
  if (!server) throw new Error('no tools');
  return server;
}
const failure = (message: string) => ({
  isError: true,
  _meta: { 'harness/error': { code: 'tool_failed', message: expect.stringContaining(message) } },
});
const meta = { threadId: 't1' };

it('the caller’s cancellation reaches the running handler, with its reason', async () => {
  const caller = new AbortController();
  const seen = Promise.withResolvers<unknown>();
  const server = serverOf({
    async handler(_ctx, _input, { signal }) {
      const aborted = once(signal, 'abort');
      caller.abort(new Error('enough'));
      await aborted;
      seen.resolve(signal.reason);
      throw signal.reason;
    },
  });
  const result = await server.call('p__t', { input: {}, meta: { ...meta, signal: caller.signal } });
  expect(await seen.promise).toMatchObject({ message: 'enough' });
  expect(result).toMatchObject({ _meta: { 'harness/error': { code: 'turn_cancelled' } } });
});

it('a tool’s own time limit overrides the default', async () => {
  const never = () => new Promise<string>(() => {});
  const call = serverOf({ handler: never, timeoutMs: 7 }).call('p__t', { input: {}, meta });
  expect(await call).toMatchObject({
    _meta: { 'harness/error': { code: 'tool_timeout', message: expect.stringContaining('7 ms') } },
  });
});

it('what a tool asks the client for has clean text, and its size is bounded', async () => {
  const asking = (message: string) =>
    serverOf({ handler: () => needInput({ q: { method: 'elicitation/create', params: { message } } }, 1) });
  const call = { input: {}, meta: { ...meta, capabilities: { elicitation: {} } } };
  expect(await asking('half \ud83d').call('p__t', call)).toEqual({
    inputRequests: { q: { method: 'elicitation/create', params: { message: 'half \ufffd' } } },
    state: 1,
  });
  expect(await asking('x'.repeat(2 ** 20)).call('p__t', call)).toMatchObject(
    failure('request for input has'),
  );
});

it.each([
  ['a string', 'text'],
  ['content alone', { content: [] }],
  ['null', { content: [], structuredContent: null }],
])('an output schema requires structured content: %s is a failure', async (_what, returned) => {
  const handler = (() => returned) as unknown as PluginTool['handler'];
  const server = serverOf({ outputSchema: {}, handler });
  expect(await server.call('p__t', { input: {}, meta })).toMatchObject(failure('structuredContent'));
});

it('structured content that breaks the output schema never reaches the caller', async () => {
  const outputSchema = { type: 'object', properties: { n: { type: 'number' } }, additionalProperties: false };
  const structuredContent = { n: 1, secret: 's3cret' };
  const result = await serverOf({ outputSchema, handler: () => ({ content: [], structuredContent }) }).call(
    'p__t',
    { input: {}, meta },
  );
  expect(result).toMatchObject(failure('/secret: unknown property'));
  expect(JSON.stringify(result)).not.toContain('s3cret');
});
