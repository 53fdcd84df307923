import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';
import { runChat } from '../open-terminal.ts';

test('/put, /files and /get move files between here and the thread; no file here is written over', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'harness-chat-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { url, thread } = await openFleet({ env: { HARNESS_WORKSPACES: 'auto' } });
  const threadId = await thread({ workspace: true });
  const say = (message: string) => runChat({ url, args: ['--thread', threadId, '--message', message] });
  const [from, to] = [join(folder, 'a b.txt'), join(folder, 'back.txt')];
  await writeFile(from, 'of a person\n');
  expect((await say('/files')).stdout).toBe('This thread has no files.\n');
  expect((await say(`/put "${from}" notes/a.txt`)).stdout).toContain('notes/a.txt is among the files');
  expect((await say('/files')).stdout).toMatch(/^ +12 {2}notes\/a\.txt$/m);
  expect((await say(`/get notes/a.txt ${to}`)).code).toBe(0);
  expect(await readFile(to, 'utf8')).toBe('of a person\n');
  const again = await say(`/get notes/a.txt ${to}`);
  expect([again.code, again.stderr + again.stdout]).toEqual([1, expect.stringContaining('exists')]);
  expect((await say('/get none.txt')).code).toBe(1);
  expect((await say('/help')).stdout).toContain('/put from [path]');
});
