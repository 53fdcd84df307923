/** Secrets in errors: neither callers nor the log see them, whatever way the error takes. */
import { definePlugin } from '@harness/plugin-kit';
import { createLogger, createScrubber, envSecretPatterns } from '@harness/runtime';
import { expect, test } from 'vitest';
import { openGateway } from '../fixture.ts';
import { beginSession, modernCaller } from '../mcp-wire.ts';

/** One of a known shape, one of a configured pattern, one by its value. */
const secrets = [`sk-${'ant'}-api03-${'x1'.repeat(20)}`, 'corp-123456', 'the key of the house'];
const text = `refused: ${secrets.join(' and ')}.`;
const scrubbed = 'refused: [secret] and [secret] and [secret].';
const fail = () => {
  throw new Error(text);
};

const leaky = definePlugin({
  name: 'leaky',
  version: '1',
  register: () => undefined,
  tools: [
    { name: 'throws', description: 'x', schema: {}, handler: fail },
    {
      name: 'fails',
      description: 'x',
      schema: {},
      handler: () => ({
        content: [{ type: 'text', text }],
        structuredContent: { message: text },
        isError: true,
      }),
    },
    { name: 'works', description: 'x', schema: {}, handler: () => text },
  ],
  resources: [{ uri: 'leaky://one', name: 'one', read: fail }],
  prompts: [{ name: 'ask', get: fail }],
  commands: [{ name: 'leak', description: 'x', execute: fail }],
});
const broken = definePlugin({ name: 'broken', version: '1', register: fail });

async function openLeaky() {
  const lines: string[] = [];
  const patterns = envSecretPatterns.HARNESS_SECRET_PATTERNS.parse('corp-[0-9]{6}');
  const scrubber = createScrubber({ patterns, values: ['the key of the house'] });
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = createLogger('gateway', 'trace', { destination, scrubber });
  const gateway = await openGateway({ plugins: [leaky, broken], logger, scrubber });
  return { ...gateway, log: () => lines.join('') };
}

test('an error never has a secret: through REST and both eras of MCP, in commands, diagnostics and the log', async () => {
  const { url, call, log } = await openLeaky();
  const { body: thread } = await call('POST', '/v1/threads', { body: {} });
  const [old, modern] = [await beginSession(url), modernCaller()];
  const rest = async (...sent: Parameters<typeof call>) => (await call(...sent)).body;
  const errors = {
    thrown: await rest('POST', '/v1/tools/leaky__throws', { body: {} }),
    result: await rest('POST', '/v1/tools/leaky__fails', { body: {} }),
    command: await rest('POST', `/v1/threads/${thread.threadId}/commands`, { body: { command: '/leak' } }),
    plugins: (await rest('GET', '/v1/plugins')).diagnostics,
    old: await (await old.call(url, 'leaky__throws')).message(),
    oldResource: await (
      await old.request(url, 'resources/read', { params: { uri: 'leaky://one' } })
    ).message(),
    oldPrompt: await (await old.request(url, 'prompts/get', { params: { name: 'leaky__ask' } })).message(),
    modern: await (await modern.call(url, 'leaky__fails')).message(),
    modernPrompt: await (
      await modern.request(url, 'prompts/get', { params: { name: 'leaky__ask' } })
    ).message(),
  };
  for (const [where, body] of Object.entries(errors)) {
    const sent = JSON.stringify(body);
    for (const secret of secrets) expect([where, sent.includes(secret)]).toEqual([where, false]);
  }
  expect(errors.result).toMatchObject({ structuredContent: { message: scrubbed } });
  for (const { content } of [errors.thrown, errors.result, errors.old.result, errors.modern.result])
    expect(content).toEqual([{ type: 'text', text: scrubbed }]);
  expect(errors.command).toEqual({ isError: true, output: `/leak failed: ${scrubbed}` });
  expect(errors.plugins).toMatchObject([{ message: `broken: register failed: ${scrubbed}` }]);
  expect(log()).toContain(scrubbed);
  for (const secret of secrets) expect(log()).not.toContain(secret);
});

test('a refusal does not repeat a secret that it was sent', async () => {
  const { url, call, log } = await openLeaky();
  const [shape = ''] = secrets;
  const answers = [
    await call('GET', `/nowhere/${shape}`),
    await call('GET', `/v1/threads/${shape}?after=${shape}`),
    await call('GET', `/v1/threads/%zz%20${shape}`),
    await call('POST', '/v1/threads', { body: { [shape]: shape } }),
    await call('POST', '/v1/threads', { body: `{"x": ${shape}` }),
    await call('POST', `/v1/tools/${shape}`, { body: {} }),
  ];
  for (const { status, body } of answers) {
    expect(status).toBeGreaterThanOrEqual(400);
    expect(JSON.stringify(body)).not.toContain(shape);
  }
  const { error } = await (await modernCaller().call(url, shape)).message();
  expect(error.message).toBe('There is no tool "[secret]".');
  expect(log()).not.toContain(shape);
});

test('a regular result is not changed', async () => {
  const { url, call } = await openLeaky();
  const { body } = await call('POST', '/v1/tools/leaky__works', { body: {} });
  expect(body.content).toEqual([{ type: 'text', text }]);
  const { result } = await (await modernCaller().call(url, 'leaky__works')).message();
  expect(result.content).toEqual([{ type: 'text', text }]);
});
