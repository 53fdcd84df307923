/** docker-compose.yml for real: its images are built, its containers run; scripted-model is the model. */
import { get } from 'node:http';
import { createServer } from 'node:net';
import type { Run } from '@harness/contracts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type ComposeProject, findCompose, openProject } from './compose-project.ts';

const found = await findCompose();
if ('missing' in found) console.warn(`The compose tests are SKIPPED: ${found.missing}.`);

const key = 'key-of-the-compose-test';
const firstBuildLimitMs = 900_000;
const answerLimitMs = 60_000;
const poll = { timeout: answerLimitMs, interval: 200 };

describe.skipIf('missing' in found)('docker-compose.yml', () => {
  let project: ComposeProject;
  let url: string;
  let removed = false;

  beforeAll(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    project = openProject('command' in found ? found.command : [], {
      PORT: String(port),
      HARNESS_API_KEY: key,
      HARNESS_WORKER_TTL_MS: '2000', // a dead worker is noticed soon
      COMPOSE_PROFILES: 'demo',
      ANTHROPIC_BASE_URL: 'http://scripted-model:8099',
      ANTHROPIC_API_KEY: 'scripted-model needs none',
    });
    await project.compose('up', '--build', '--detach').catch(async (error) => {
      await printLogs();
      throw error;
    });
  }, firstBuildLimitMs);

  afterAll(() => (removed ? undefined : project?.remove()), 120_000);

  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail' && !removed) await printLogs();
  });

  const printLogs = async () => console.error(await project.compose('logs', '--no-color', '--tail', '60'));

  const call = async <T>(path: string, body?: object): Promise<T> => {
    const response = await fetch(url + path, {
      headers: {
        authorization: `Bearer ${key}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(answerLimitMs),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return JSON.parse(text) as T;
  };
  const newThread = async () => (await call<{ threadId: string }>('/v1/threads', {})).threadId;
  const ask = async (input: string) => call<Run>(`/v1/threads/${await newThread()}/runs/wait`, { input });
  /** Sends a message and waits until a worker is at it. */
  const startRun = async (input: string) => {
    const { threadId, runId } = await call<Run>(`/v1/threads/${await newThread()}/runs`, { input });
    const look = () => call<Run>(`/v1/threads/${threadId}/runs/${runId}`);
    await expect.poll(async () => (await look()).status, poll).toBe('running');
    return look;
  };
  const scale = (...args: string[]) => project.compose('up', '--detach', '--no-recreate', ...args);

  test('a message through the load balancer is answered, by a session that calls a tool', async () => {
    const run = await ask('call: time__current_time {"timezone":"Europe/Berlin"}\nsay: it is late');
    expect(run).toMatchObject({ status: 'success', result: 'it is late', attempt: 1 });
  });

  test('MCP lists the tools through the load balancer', async () => {
    const response = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-06-18',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
    });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('"time__current_time"');
  });

  test('without a key nothing is told', async () => {
    expect((await fetch(`${url}/v1/threads`)).status).toBe(401);
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect((await fetch(`${url}/mcp`, { method: 'POST', headers, body })).status).toBe(401);
  });

  test('the Host of a request passes the load balancer, and is judged', async () => {
    expect(await statusFor('evil.example')).toBe(403);
    expect(await statusFor('lb:8080')).toBe(200);
  });

  test('without HARNESS_API_KEY nothing starts, and the message names it', async () => {
    await expect(project.composeWithout('HARNESS_API_KEY', 'up', '--detach')).rejects.toThrow(
      'Set HARNESS_API_KEY in the environment or in .env',
    );
  });

  test('three workers, two gateways: every thread is answered, also while a gateway goes away', async () => {
    await scale('--scale', 'worker=3', '--scale', 'gateway=2');
    expect(await project.containersOf('worker')).toHaveLength(3);
    const [first, second] = await project.containersOf('gateway');
    const answers = async () => {
      const runs = await Promise.all(Array.from({ length: 6 }, (_, n) => ask(`say: answer ${n}`)));
      return runs.map(({ result }) => result);
    };
    const expected = Array.from({ length: 6 }, (_, n) => `answer ${n}`);
    expect(await answers()).toEqual(expected);

    // Each gateway alone carries everything: the load balancer finds both, and no request fails while one leaves.
    for (const gateway of [first, second]) {
      const stopped = project.docker('stop', String(gateway)).then(() => true);
      while (!(await Promise.race([stopped, call('/v1/tools').then(() => false)])));
      expect(await answers()).toEqual(expected);
      await project.docker('start', String(gateway));
      await expect.poll(() => healthOf(String(gateway)), poll).toBe('healthy');
    }
  }, 300_000);

  test('workers killed in mid-turn: the run ends on another', async () => {
    const look = await startRun('sleep: 3000\nsay: survived');
    await project.docker('kill', ...(await project.containersOf('worker')));
    await scale('--scale', 'worker=3', '--scale', 'gateway=2');
    await expect.poll(async () => (await look()).status, poll).toBe('success');
    expect(await look()).toMatchObject({ result: 'survived', attempt: 2 });
  }, 180_000);

  test('a worker that is stopped ends its turn first', async () => {
    const look = await startRun('sleep: 3000\nsay: drained');
    await project.compose('stop', 'worker');
    expect(await look()).toMatchObject({ status: 'success', result: 'drained', attempt: 1 });
  }, 180_000);

  test('what was accepted survives the restart of Redis and is done by the next worker', async () => {
    const threadId = await newThread();
    const { runId } = await call<Run>(`/v1/threads/${threadId}/runs`, { input: 'say: kept' });
    await project.compose('restart', 'redis');
    await scale();
    const result = async () =>
      (await call<Run>(`/v1/threads/${threadId}/runs/${runId}`).catch(() => undefined))?.result;
    await expect.poll(result, poll).toBe('kept');
  }, 180_000);

  test('down leaves nothing', async () => {
    await project.remove();
    removed = true;
    expect(await project.leftovers()).toEqual([]);
  }, 180_000);

  /** fetch does not let a caller choose the Host. */
  const statusFor = (host: string) =>
    new Promise((resolve, reject) => {
      get(`${url}/healthz`, { headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on('error', reject);
    });

  const healthOf = async (container: string) =>
    (await project.docker('inspect', '--format', '{{.State.Health.Status}}', container)).trim();
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
