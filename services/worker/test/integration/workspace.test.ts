import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { maxChangedPaths } from '@harness/contracts';
import { openFileStore } from '@harness/workspaces';
import { expect, onTestFinished, test } from 'vitest';
import { createWorkspace } from '../../src/workspace/workspace.ts';

test('files that no version can hold are named, once', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'workspace-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  const folder = await mkdtemp(join(dir, 'work-'));
  const files = openFileStore({ dir: join(dir, 'store') }).of('t');
  const workspace = createWorkspace({ files: undefined }, { files, limits: { files: 10, bytes: 1_000 } });
  await workspace.fill(folder, undefined);
  expect(await workspace.keep()).toBeUndefined();
  execFileSync('mkfifo', [join(folder, 'fifo')]);
  const skipped = [{ path: 'fifo', why: 'it is neither a file nor a folder nor a symbolic link' }];
  expect(await workspace.keep()).toMatchObject({ changed: [], more: 0, skipped });
  expect(await workspace.keep()).toBeUndefined();
  await writeFile(join(folder, 'file'), 'x');
  expect(await workspace.keep()).toMatchObject({ changed: ['file'], skipped });
  await rm(join(folder, 'fifo'));
  await rm(join(folder, 'file'));
  expect(await workspace.keep()).not.toHaveProperty('skipped');
});

test('the changes of a turn count from the version of its thread, each path once, and no more than a list may have', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'workspace-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  const folder = await mkdtemp(join(dir, 'work-'));
  const files = openFileStore({ dir: join(dir, 'store') }).of('t');
  const limits = { files: 1_000, bytes: 1_000_000 };
  const put = (count: number, prefix: string) =>
    Array.from({ length: count }, (_, n) => ({ path: `${prefix}${n}`, put: Buffer.from(`${n}`) }));
  const before = await files.edit(undefined, put(80, 'old'), limits);
  const sent = await files.edit(undefined, put(50, 'sent'), limits);
  const workspace = createWorkspace({ files: before.version }, { files, limits });
  await workspace.fill(folder, undefined);
  await workspace.prepare({ files: before.version, filesIn: sent.version });
  for (let n = 0; n < 80; n++) await rm(join(folder, `old${n}`));
  await rm(join(folder, 'sent0'));
  const kept = await workspace.keep();
  expect(kept?.changed).toHaveLength(maxChangedPaths);
  expect(kept).toMatchObject({ more: 80 + 49 - maxChangedPaths });
  expect(kept?.changed).not.toContain('sent0');
});
