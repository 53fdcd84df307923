import { expect, test } from 'vitest';
import { definePlugin } from '../contract/define.ts';
import { collectTools } from '../host/collect.ts';
import { validatePluginExport } from '../load/validate.ts';
import { createToolServer } from './tool-server.ts';

const plugin = definePlugin({
  name: 'old',
  version: '1.0.0',
  tools: [
    {
      name: 'echo',
      description: 'Says what it was given',
      schema: { type: 'object', properties: { taskId: { type: 'string' } }, additionalProperties: false },
      aliases: { bead_id: 'taskId', id: 'taskId' },
      handler: (_ctx, input) => JSON.stringify(input),
    },
  ],
  register: () => ({}),
});

async function echo(input: object): Promise<string> {
  const answer = await createToolServer(collectTools([plugin]))?.call('old__echo', {
    input,
    meta: { threadId: 'thr' },
  });
  const [block] = (answer as { content: { text: string }[] }).content;
  return block?.text ?? '';
}

test('an old name is renamed to the new one before validation', async () => {
  expect(await echo({ bead_id: 'a' })).toBe('{"taskId":"a"}');
  expect(await echo({ taskId: 'a' })).toBe('{"taskId":"a"}');
  expect(await echo({ bead_id: 1 })).toContain('/taskId');
});

test('an old name beside the new one is an unknown property', async () => {
  expect(await echo({ taskId: 'a', bead_id: 'b' })).toContain('bead_id');
});

test('old names are not listed', () => {
  const [listed] = createToolServer(collectTools([plugin]))?.list() ?? [];
  expect(JSON.stringify(listed)).not.toContain('bead_id');
});

test('aliases that are not strings make the plugin invalid', () => {
  const [tool] = plugin.tools ?? [];
  const wrong = { ...plugin, tools: [{ ...tool, aliases: { bead_id: 7 } }] };
  expect(validatePluginExport({ plugin: wrong }, 'old.ts')).toMatchObject({
    valid: false,
    errors: [expect.stringContaining('tools[0].aliases')],
  });
});
