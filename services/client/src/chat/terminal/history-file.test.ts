import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { maxHistory, openHistory } from './history-file.ts';

async function openFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'harness-history-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test('added lines are there the next time, latest first, readable by the user only', async () => {
  const file = join(await openFolder(), 'new', 'chat-history');
  const warn = vi.fn();
  const history = await openHistory(file, warn);
  expect(history.lines).toEqual([]);
  for (const line of ['one', 'two']) await history.add(line);
  expect((await openHistory(file, warn)).lines).toEqual(['two', 'one']);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  await chmod(file, 0o644);
  await openHistory(file, warn);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(warn).not.toHaveBeenCalled();
});

test('a long history is shortened to its latest lines', async () => {
  const file = join(await openFolder(), 'chat-history');
  const lines = Array.from({ length: 2 * maxHistory + 1 }, (_, n) => `line ${n}`);
  await writeFile(file, `${lines.join('\n')}\n`);
  const { lines: kept } = await openHistory(file, () => undefined);
  expect([kept.length, kept[0]]).toEqual([maxHistory, lines.at(-1)]);
  expect((await readFile(file, 'utf8')).split('\n')).toHaveLength(maxHistory + 1);
});

test('a history that cannot be saved causes one warning', async () => {
  const folder = await openFolder();
  await writeFile(join(folder, 'file'), '');
  const warn = vi.fn();
  const history = await openHistory(join(folder, 'file', 'chat-history'), warn);
  await history.add('one');
  expect(warn.mock.calls).toEqual([[expect.stringContaining('The history cannot be saved')]]);
});
