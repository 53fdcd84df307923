import { expect, it } from 'vitest';
import { definePlugin } from '../contract/define.ts';
import { createDetachedContext } from './detached-context.ts';
import { createServedCatalog } from './served.ts';

const catalogOf = (returned: unknown) =>
  createServedCatalog(
    [
      definePlugin({
        name: 'notes',
        version: '1.0.0',
        resources: [{ uri: 'note://a', name: 'A', mimeType: 'text/plain', read: () => returned as string }],
        prompts: [{ name: 'ask', get: () => returned as string }],
        register: () => undefined,
      }),
    ],
    () => createDetachedContext(),
  );

it('accepts a string as one text', async () => {
  const catalog = catalogOf('words');
  expect(await catalog.read('note://a', {})).toEqual([
    { uri: 'note://a', mimeType: 'text/plain', text: 'words' },
  ]);
  expect(await catalog.prompt('notes__ask', {}, {})).toEqual({
    messages: [{ role: 'user', content: { type: 'text', text: 'words' } }],
  });
});

it.each([
  ['another shape', [{ uri: 5 }], 'a value of the wrong shape (0'],
  ['no list', { text: 'x' }, 'a value of the wrong shape'],
  [
    'no JSON',
    [{ uri: 'a', text: 'x', role: 'user', content: { type: 'text', text: 'x' }, n: 1n }],
    'is not JSON',
  ],
  ['too much', 'x'.repeat(11 * 1024 * 1024), 'bytes as JSON; at most 10485760 are allowed'],
])('refuses %s', async (_what, returned, words) => {
  const catalog = catalogOf(returned);
  const failure = { code: 'tool_failed', message: expect.stringContaining(words) };
  await expect(catalog.read('note://a', {})).rejects.toMatchObject(failure);
  await expect(catalog.prompt('notes__ask', {}, {})).rejects.toMatchObject(failure);
});

it('knows an argument that is called like a member of every object only if it is given', async () => {
  const prompts = [{ name: 'ask', arguments: [{ name: 'toString', required: true }], get: () => 'words' }];
  const catalog = createServedCatalog(
    [definePlugin({ name: 'notes', version: '1.0.0', prompts, register: () => undefined })],
    () => createDetachedContext(),
  );
  await expect(catalog.prompt('notes__ask', {}, {})).rejects.toMatchObject({ code: 'invalid_request' });
  const completion = { ref: { prompt: 'notes__ask' }, argument: { name: 'valueOf', value: '' }, others: {} };
  expect(await catalog.complete(completion)).toEqual({ values: [], total: 0 });
});
