import { AppError, type Task } from '@harness/contracts';
import type { PluginContext, PluginToolMeta, ToolResult } from '@harness/plugin-kit';
import { expect, test } from 'vitest';
import { taskFilesTool } from './task-files.ts';

const stored: Record<string, Buffer> = {
  'long.txt': Buffer.from(`${'x'.repeat(99_999)}é and more`),
  'raw.bin': Buffer.from([1, 0, 2]),
  'latin.txt': Buffer.from([0x63, 0xe9, 0x20]),
  'empty.txt': Buffer.alloc(0),
  'dot.png': Buffer.from('a picture'),
  'huge.png': Buffer.alloc(3_500_001),
  'new\nline': Buffer.from('x'),
};
const tool = taskFilesTool({
  list: async () => Object.entries(stored).map(([path, bytes]) => ({ path, size: bytes.length })),
  async read({ path }, { offset, most }) {
    const bytes = stored[path];
    if (!bytes) throw new AppError('file_not_found', `There is no file ${path}.`);
    return { bytes: bytes.subarray(offset, offset + most), size: bytes.length };
  },
});
const files = { version: 'a'.repeat(64), changed: ['x'], more: 0 };
const tasks: Record<string, Partial<Task>> = {
  own: { taskId: 'own', parentThreadId: 'parent', status: 'completed', files },
  without: { taskId: 'without', parentThreadId: 'parent', status: 'completed', files: null },
};
const ctx = { tasks: { get: async (id: string) => tasks[id] ?? null } } as unknown as PluginContext;
const call = (input: object, { threadId = 'parent', isOutside = false, scopes = [] as string[] } = {}) =>
  tool.handler(ctx, { taskId: 'own', ...input }, {
    threadId,
    runId: isOutside ? undefined : 'run',
    principal: { keyId: 'k', tenant: 't', scopes },
  } as unknown as PluginToolMeta) as Promise<ToolResult>;
const textOf = async (input: object) => {
  const { content, isError } = await call(input);
  return [isError ?? false, content[0]?.type === 'text' ? content[0].text : ''] as const;
};

test('a long text comes in parts, and no character is cut', async () => {
  const [, first] = await textOf({ path: 'long.txt' });
  expect(first).toBe(`${'x'.repeat(99_999)}\n[100010 bytes; the rest begins at offset 99999]`);
  expect(await textOf({ path: '/workspace/long.txt', offset: 99_999 })).toEqual([false, 'é and more']);
  expect(await textOf({ path: './empty.txt' })).toEqual([false, '']);
});

test('a file that is not text is refused, but images are shown', async () => {
  for (const path of ['raw.bin', 'latin.txt', 'huge.png']) expect((await call({ path })).isError).toBe(true);
  expect((await call({ path: 'dot.png' })).content).toEqual([
    { type: 'image', mimeType: 'image/png', data: Buffer.from('a picture').toString('base64') },
  ]);
});

test('a list has a line for each file', async () => {
  const [, text] = await textOf({});
  expect(text.split('\n')).toHaveLength(Object.keys(stored).length);
  expect(text).toContain('new?line (1 bytes)');
});

test('an agent reads the files of its own tasks; a caller with the scope for threads those of its tenant', async () => {
  await expect(call({}, { threadId: 'other' })).rejects.toMatchObject({ code: 'task_not_found' });
  await expect(call({ taskId: 'unknown' })).rejects.toMatchObject({ code: 'task_not_found' });
  await expect(call({ taskId: 'without' })).rejects.toMatchObject({ code: 'file_not_found' });
  const outside = { threadId: 'other', isOutside: true };
  await expect(call({}, outside)).rejects.toMatchObject({ code: 'forbidden' });
  expect(await call({}, { ...outside, scopes: ['threads'] })).toHaveProperty('content');
});
