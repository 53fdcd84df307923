/** Text of plugins that would act on a terminal, or that models read and people do not see. */
import { definePlugin } from '@harness/plugin-kit';
import { expect, test } from 'vitest';
import { openGateway } from '../fixture.ts';
import { beginSession, modernCaller } from '../mcp-wire.ts';
import { openSkills, writeSkill } from '../skill-folder.ts';

/** Escapes of terminals, tags, variation selectors, zero width and directions. */
const bad = [
  '\u001b[2J',
  '\u001b]0;title\u0007',
  '\u009b31m',
  '\u{e0041}',
  '\u{e0100}',
  '\u200b',
  '\u202e',
  '\u2066',
  '\ufeff',
];
const text = `seen${bad.join('')}`;
const poison = definePlugin({
  name: 'poison',
  version: '1',
  register: () => undefined,
  tools: [
    { name: 'text', description: 'x', schema: {}, handler: () => text },
    {
      name: 'structured',
      description: 'x',
      schema: {},
      handler: () => ({ content: [], structuredContent: { deep: [{ text }] } }),
    },
    {
      name: 'throws',
      description: 'x',
      schema: {},
      handler: () => {
        throw new Error(text);
      },
    },
  ],
  resources: [{ uri: 'poison://one', name: 'one', read: () => text }],
  prompts: [{ name: 'ask', get: () => text }],
  commands: [{ name: 'poison', description: 'x', execute: () => text }],
});

test('no hidden text reaches a caller, through REST and both eras of MCP', async () => {
  const { url, call } = await openGateway({ plugins: [poison] });
  const { body: thread } = await call('POST', '/v1/threads', { body: {} });
  const [old, modern] = [await beginSession(url), modernCaller()];
  const rest = async (...sent: Parameters<typeof call>) => (await call(...sent)).body;
  const answers = {
    text: await rest('POST', '/v1/tools/poison__text', { body: {} }),
    structured: await rest('POST', '/v1/tools/poison__structured', { body: {} }),
    thrown: await rest('POST', '/v1/tools/poison__throws', { body: {} }),
    command: await rest('POST', `/v1/threads/${thread.threadId}/commands`, { body: { command: '/poison' } }),
    old: await (await old.call(url, 'poison__text')).message(),
    modern: await (await modern.call(url, 'poison__structured')).message(),
    resource: await (await old.request(url, 'resources/read', { params: { uri: 'poison://one' } })).message(),
    prompt: await (await modern.request(url, 'prompts/get', { params: { name: 'poison__ask' } })).message(),
  };
  const left = (value: unknown): string[] => {
    const found: string[] = [];
    JSON.stringify(value, (_key, part) => {
      if (typeof part === 'string') found.push(...bad.filter((one) => part.includes(one)));
      return part;
    });
    return found;
  };
  for (const [where, answer] of Object.entries(answers)) {
    expect([where, JSON.stringify(answer).includes('seen')]).toEqual([where, true]);
    expect([where, left(answer)]).toEqual([where, []]);
  }
});

test('a skill whose description hides something does not load', async () => {
  const skillsDirectory = await openSkills(['fine']);
  await writeSkill(skillsDirectory, 'hidden', { front: 'argument-hint: "a\u{e0041}b"\n' });
  const { call } = await openGateway({ skillsDirectory });
  const { body } = await call('GET', '/v1/skills');
  expect(body.skills.map(({ name }: { name: string }) => name)).toEqual(['fine']);
  expect(JSON.stringify(body.diagnostics)).toContain('invisible');
});
