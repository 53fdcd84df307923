import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdir, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';

const main = fileURLToPath(new URL('../../src/files.ts', import.meta.url));

test('npm run files: verify reads everything and fails for a damaged file; collect keeps what is used', async () => {
  const filesDir = join(tmpdir(), `harness-files-${randomUUID()}`);
  onTestFinished(() => rm(filesDir, { recursive: true, force: true }));
  const env = { HARNESS_WORKSPACES: 'auto', HARNESS_FILES_DIR: filesDir };
  const fleet = await openFleet({ workers: 0, env });
  const run = (...args: string[]) =>
    new Promise<{ code: number; output: string }>((resolve) => {
      const options = { env: { PATH: process.env.PATH, REDIS_URL: fleet.redisUrl, ...env } };
      execFile(process.execPath, [main, ...args], options, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
      );
    });
  const threadId = await fleet.thread();
  const put = await fetch(`${fleet.url}/v1/threads/${threadId}/files/notes.txt`, {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream' },
    body: 'some notes',
  });
  expect(put.status).toBe(200);
  const etag = put.headers.get('etag') ?? '';
  const sha256 = etag.slice(1, -1);
  expect(await run('collect')).toMatchObject({ code: 0, output: expect.stringContaining('discarded: 0') });
  expect(await run('verify')).toMatchObject({ code: 0, output: expect.stringContaining('blobs: ') });
  const [tenant = ''] = (await readdir(filesDir)).filter((name) => name.startsWith('t-'));
  await truncate(join(filesDir, tenant, 'blobs', sha256.slice(0, 2), sha256), 3);
  expect(await run('verify')).toMatchObject({
    code: 1,
    output: expect.stringContaining(`damaged: ${sha256}`),
  });
  await rm(filesDir, { recursive: true });
  const all = await run('verify');
  expect(all).toMatchObject({ code: 1, output: expect.stringMatching(/missing: [0-9a-f]{64}/) });
  expect(all.output).toContain(filesDir);
  expect(await run('tidy')).toMatchObject({ code: 1, output: expect.stringContaining('verify|collect') });
});
