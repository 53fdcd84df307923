import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { descendantsOf } from '../faults/processes.ts';

const start = fileURLToPath(new URL('../../src/start.ts', import.meta.url));

test('npm start restarts a part that dies, at the same address', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'harness-start-'));
  const port = await freePort();
  const env = { PATH: process.env.PATH ?? '', PORT: String(port), LOG_LEVEL: 'error' };
  const child = spawn(process.execPath, [start], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await exited;
    await rm(cwd, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;
  const ready = async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.status;
  await expect.poll(ready, { timeout: 30_000 }).toBe(200);
  const partsOf = (name: string) =>
    descendantsOf(child.pid as number).filter(({ command }) => command.includes(`${name}/src/main.ts`));
  for (const name of ['scripted-model', 'gateway', 'worker']) {
    await expect.poll(() => partsOf(name).length, { timeout: 30_000 }).toBe(1);
    const [before] = partsOf(name);
    process.kill(before?.pid as number, 'SIGKILL');
    await expect
      .poll(() => partsOf(name).map(({ pid }) => pid), { timeout: 30_000 })
      .not.toContain(before?.pid);
    await expect.poll(() => partsOf(name).length, { timeout: 30_000 }).toBe(1);
    await expect.poll(ready, { timeout: 30_000 }).toBe(200);
  }
  expect(child.exitCode).toBe(null);
  const body = JSON.stringify({ input: 'say: still here' });
  const headers = { 'content-type': 'application/json' };
  await fetch(`${url}/v1/threads`, { method: 'POST', headers, body: '{"threadId":"t"}' });
  const run = await (await fetch(`${url}/v1/threads/t/runs/wait`, { method: 'POST', headers, body })).json();
  expect(run).toMatchObject({ result: 'still here' });
  child.kill('SIGINT');
  expect(await exited).toEqual([0, null]);
});
