import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Run } from '@harness/contracts';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';
import { openRoundRobin } from '../round-robin.ts';

const keysMain = fileURLToPath(new URL('../../../gateway/src/keys/main.ts', import.meta.url));
const graceMs = 30_000;

/** A key file, changed as an operator does it. */
async function openKeyFile() {
  const dir = await mkdtemp(join(tmpdir(), 'harness-rotation-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const path = join(dir, 'keys.json');
  await writeFile(path, '[]');
  const keys = async (...args: string[]) =>
    (await promisify(execFile)(process.execPath, [keysMain, ...args, '--file', path])).stdout;
  return {
    path,
    create: async (id: string) => /hk_[\w-]+/.exec(await keys('create', '--id', id))?.[0] as string,
    revoke: (id: string) => keys('revoke', '--id', id),
  };
}

test('keys and token secrets are rotated, and every process replaced, without a failed request or tool call', {
  timeout: 300_000,
}, async () => {
  const file = await openKeyFile();
  const secretEnv = (...secrets: string[]) => ({ HARNESS_TOKEN_SECRET: secrets.join(',') });
  const [old, next] = ['the old token secret of the fleet', 'the next token secret of the fleet'];
  let key = await file.create('first');
  const fleet = await openFleet({ workers: 0, env: { HARNESS_API_KEYS_FILE: file.path, ...secretEnv(old) } });
  let gateways = [fleet.gateway, await fleet.addGateway()];
  const balancer = await openRoundRobin(() => gateways.map(({ ready }) => ready.url));
  onTestFinished(balancer.close);
  const through = { HARNESS_GATEWAY_URL: balancer.url.replace('localhost', '127.0.0.1') };
  let worker = await fleet.addWorker({ ...through, ...secretEnv(old) });

  const ask = async (path: string, body?: object): Promise<string> => {
    const response = await fetch(balancer.url + path, {
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return text;
  };
  const call = async <T>(path: string, body?: object) => JSON.parse(await ask(path, body)) as T;
  /** Runs a turn with a tool call on the thread; one that a gateway's end interrupts is read elsewhere. */
  const turn = async (threadId: string) => {
    let run = await call<Run>(`/v1/threads/${threadId}/runs/wait`, { input: 'call: time__current_time {}' });
    while (run.status === 'pending' || run.status === 'running') {
      await after(100);
      run = await call<Run>(`/v1/threads/${threadId}/runs/${run.runId}`);
    }
    if (run.status !== 'success') throw new Error(`${run.status}: ${JSON.stringify(run.error)}`);
    const events = await ask(`/v1/threads/${threadId}/runs/${run.runId}/stream`);
    if (!events.includes('"isError":false')) throw new Error(`the tool call of a turn failed: ${events}`);
  };
  const tool = async () => {
    const { isError, content } = await call<{ isError: boolean; content: unknown }>(
      '/v1/tools/time__current_time',
      {},
    );
    if (isError) throw new Error(JSON.stringify(content));
    await after(20);
  };

  // Requests and turns, all the time. `settle`: each has gone round once more, with the present key.
  const threads = await Promise.all(
    [0, 1].map(async () => (await call<{ threadId: string }>('/v1/threads', {})).threadId),
  );
  const failures: unknown[] = [];
  const rounds = { turns: 0, tools: 0 };
  let isOver = false;
  const loop = async (kind: keyof typeof rounds, step: () => Promise<void>) => {
    while (!isOver) {
      await step().catch((error) => failures.push(error));
      rounds[kind]++;
    }
  };
  const loops = [...threads.map((id) => loop('turns', () => turn(id))), loop('tools', tool)];
  const settle = async () => {
    const before = { ...rounds };
    await expect
      .poll(() => Math.min(rounds.turns - before.turns - threads.length, rounds.tools - before.tools), {
        timeout: 60_000,
      })
      .toBeGreaterThan(0);
    expect(failures).toEqual([]);
  };
  await settle();

  // A key: make the next one, use it, let the old one's requests end, revoke it.
  const nextKey = await file.create('second');
  for (const { ready } of gateways)
    await expect
      .poll(
        async () =>
          (await fetch(`${ready.url}/v1/tools`, { headers: { authorization: `Bearer ${nextKey}` } })).status,
      )
      .toBe(200);
  key = nextKey;
  await settle();
  await file.revoke('first');
  await settle();

  // The token secret: add the next one, sign with it, take the old one out; each time replace one process after another.
  for (const secrets of [secretEnv(old, next), secretEnv(next, old), secretEnv(next)]) {
    for (const leaving of [...gateways]) {
      const fresh = await fleet.addGateway(0, secrets);
      gateways = [...gateways.filter((one) => one !== leaving), fresh];
      await leaving.end(graceMs);
    }
    const leaving = worker;
    worker = await fleet.addWorker({ ...through, ...secrets });
    await leaving.end(graceMs);
    await settle();
  }
  isOver = true;
  await Promise.all(loops);
  expect(failures).toEqual([]);
  expect(balancer.broken).toEqual([]);
});
