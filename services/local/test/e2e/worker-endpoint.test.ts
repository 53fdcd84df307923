import { connectRedis, createLogger } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';

const readyz = async (url: string) => {
  const response = await fetch(`${url}/readyz`);
  return { status: response.status, body: (await response.json()) as { error?: object } };
};

test('each worker serves health and metrics on its own port; a worker or gateway that stops is not ready', async () => {
  const fleet = await openFleet({ workers: 2, env: { HARNESS_LEAVE_MS: '1000' } });
  const urls = fleet.workers.map(({ ready }) => ready.url ?? '');
  expect(new Set(urls).size).toBe(2);
  for (const url of urls) {
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    await expect.poll(() => readyz(url)).toMatchObject({ status: 200 });
  }

  const threadId = await fleet.thread();
  await fleet.ask(threadId, 'say: one');
  await fleet.ask(threadId, 'say: two');
  const texts = await Promise.all(urls.map(async (url) => (await fetch(`${url}/metrics`)).text()));
  const text = texts.find((one) => one.includes('path="warm"')) ?? '';
  for (const line of [
    'harness_worker_turns_total{outcome="success",path="cold"} 1',
    'harness_worker_turns_total{outcome="success",path="warm"} 1',
    'harness_worker_attempts_total{attempt="1"} 2',
    'harness_worker_run_seconds_count{phase="first_token"} 2',
    'harness_worker_sessions{state="idle"} 1',
  ])
    expect(text).toContain(`${line}\n`);

  const ofGateway = await (await fetch(`${fleet.url}/metrics`)).text();
  expect(ofGateway).toMatch(/^nodejs_eventloop_lag_p99_seconds \d/m);
  expect(ofGateway).toContain('harness_runs_total{status="success",path="warm"} 1\n');
  expect(ofGateway).toContain('harness_redis_up 1\n');

  // While Redis refuses writes the worker is not ready; then it is ready again.
  const admin = connectRedis(fleet.redisUrl, { logger: createLogger('test', 'silent'), patience: 'wait' });
  onTestFinished(() => admin.disconnect());
  await admin.config('SET', 'maxmemory', '1');
  await expect.poll(() => readyz(urls[0] ?? '')).toMatchObject({ status: 503, body: { missing: ['redis'] } });
  await admin.config('SET', 'maxmemory', '0');
  await expect.poll(() => readyz(urls[0] ?? '')).toMatchObject({ status: 200 });

  // A worker that finishes its turn before it stops is alive, and not ready.
  const { runId } = await fleet.send(threadId, 'sleep: 3000\nsay: three');
  const run = `/v1/threads/${threadId}/runs/${runId}`;
  await expect.poll(async () => (await fleet.get<{ status: string }>(run)).status).toBe('running');
  const owner = (await fleet.get<{ workerId: string }>(`/v1/threads/${threadId}/session`)).workerId;
  const busy = fleet.workers.find(({ ready }) => ready.workerId === owner);
  busy?.process.kill('SIGTERM');
  await expect
    .poll(() => readyz(busy?.ready.url ?? ''))
    .toMatchObject({ status: 503, body: { missing: ['worker'] } });
  expect((await fetch(`${busy?.ready.url}/healthz`)).status).toBe(200);
  await busy?.exited;
  expect(await fleet.get(run)).toMatchObject({ status: 'success', result: 'three', attempt: 1 });

  // A gateway that stops reports so, and still serves requests until a load balancer has noticed.
  fleet.gateway.process.kill('SIGTERM');
  await expect.poll(() => readyz(fleet.url)).toMatchObject({ status: 503, body: { missing: ['gateway'] } });
  expect(await fleet.get(run)).toMatchObject({ result: 'three' });
  await fleet.gateway.exited;
  expect(fleet.gateway.process.exitCode).toBe(0);
});
