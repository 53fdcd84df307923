import { readdir } from 'node:fs/promises';
import { createLogger } from '@harness/runtime';
import { openFileStore } from '@harness/workspaces';
import { expect, onTestFinished, test } from 'vitest';
import { createWorkspace } from '../workspace/workspace.ts';
import { createSessionOpener } from './open-session.ts';
import { openSessionHomes } from './session-home.ts';

test('a session whose files cannot be restored, or whose process does not start, leaves nothing on the disk', async () => {
  const homes = await openSessionHomes();
  onTestFinished(() => homes.close());
  const { open, living } = createSessionOpener({
    homes,
    sandboxes: undefined,
    mcpUrl: 'http://127.0.0.1:9/mcp',
    modelEnv: {},
    path: '/usr/bin:/bin',
    executable: '/missing/agent',
    startsAtOnce: 1,
    logger: createLogger('test', 'silent'),
    onProcess: () => undefined,
  });
  const profile = { model: undefined, systemPrompt: undefined, tools: [] };
  const files = openFileStore({ dir: `${homes.root}/store` }).of('t');
  const limits = { files: 10, bytes: 1_000 };
  const workspace = createWorkspace({ files: '0'.repeat(64) }, { files, limits });
  await expect(open({ name: 'damaged', profile, workspace })).rejects.toMatchObject({ code: 'file_damaged' });
  await expect(open({ name: 'missing', profile })).rejects.toMatchObject({ code: 'session_failed' });
  await expect.poll(async () => (await readdir(homes.root)).filter((name) => name !== 'store')).toEqual([]);
  expect(living()).toBe(0);
});
