import { definePlugin } from '@harness/plugin-kit';
import { createLogger } from '@harness/runtime';
import { expect, test } from 'vitest';
import { bearer, keyFor, openGateway } from '../fixture.ts';

const plugin = definePlugin({
  name: 'p',
  version: '1',
  register: () => undefined,
  tools: [
    { name: 'ok', description: 'x', schema: {}, handler: () => 'a secret answer' },
    { name: 'fails', description: 'x', schema: {}, handler: () => ({ content: [], isError: true }) },
    {
      name: 'throws',
      description: 'x',
      schema: { type: 'object', properties: { n: { type: 'number' } } },
      handler: () => {
        throw new Error('boom');
      },
    },
  ],
});

test('every call through REST and MCP is one audit line, without arguments and results', async () => {
  const records: Record<string, unknown>[] = [];
  const write = (line: string) => {
    const record = JSON.parse(line);
    if (record.audit) records.push(record);
  };
  const key = keyFor('the-key', { id: 'key-1', tenant: 'acme', scopes: ['tools'] });
  const gateway = await openGateway({
    plugins: [plugin],
    keys: [key],
    logger: createLogger('gateway', 'info', { destination: { write } }),
  });
  const post = (path: string, body: object) =>
    gateway.call('POST', path, {
      body,
      headers: {
        ...bearer('the-key'),
        accept: 'application/json, text/event-stream',
      },
    });
  const rest = (name: string, input: object) => post(`/v1/tools/${name}`, { arguments: input });
  const mcp = (name: string) =>
    post('/mcp', {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: { my: 'password' }, _meta: { 'claudecode/toolUseId': 'toolu_1' } },
    });

  await rest('p__ok', { my: 'password' });
  await rest('p__fails', {});
  await rest('p__throws', {});
  await rest('p__throws', { n: 'password' });
  await rest('p__none', {});
  await mcp('p__ok');

  const from = { tenant: 'acme', keyId: 'key-1' };
  const threadId = expect.stringMatching(/^thr_/);
  expect(records).toMatchObject([
    { ...from, door: 'rest', tool: 'p__ok', outcome: 'ok', inputBytes: 17, threadId },
    { ...from, door: 'rest', tool: 'p__fails', outcome: 'tool_error' },
    { ...from, door: 'rest', tool: 'p__throws', outcome: 'tool_failed' },
    { ...from, door: 'rest', tool: 'p__throws', outcome: 'invalid_tool_input' },
    { ...from, door: 'rest', tool: 'p__none', outcome: 'tool_not_found', outputBytes: 0 },
    { ...from, door: 'mcp', tool: 'p__ok', outcome: 'ok', toolUseId: 'toolu_1', threadId },
  ]);
  expect(JSON.stringify(records)).not.toMatch(/password|secret answer|boom/);
});
