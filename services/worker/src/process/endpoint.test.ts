import { AppError } from '@harness/contracts';
import { createLogger } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { openEndpoint } from './endpoint.ts';
import { createWorkerMetrics } from './worker-metrics.ts';
import type { WorkerTrouble } from './worker-trouble.ts';

async function openTestEndpoint({ port = 0, trouble = undefined as WorkerTrouble | undefined } = {}) {
  const lines: { path?: string; status?: number }[] = [];
  const logger = createLogger('test', 'info', {
    destination: { write: (line) => lines.push(JSON.parse(line)) },
  });
  const metrics = createWorkerMetrics();
  const endpoint = await openEndpoint({
    host: '127.0.0.1',
    port,
    logger,
    metrics,
    trouble: () => trouble,
  });
  onTestFinished(endpoint.close);
  const get = async (path: string, method = 'GET') => {
    const response = await fetch(endpoint.url + path, { method });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return { ...endpoint, get, metrics, lines };
}

test('a worker responds without a key, and successful probes are not logged', async () => {
  const { get, lines } = await openTestEndpoint();
  expect(await get('/healthz')).toMatchObject({ status: 200, text: '{"status":"ok"}' });
  expect(await get('/readyz')).toMatchObject({ status: 200, text: '{"status":"ready","missing":[]}' });
  const { status, headers } = await get('/metrics');
  expect([status, headers.get('content-type')]).toEqual([200, expect.stringContaining('text/plain')]);
  expect(lines).toEqual([]);
  expect((await get('/v1/threads')).status).toBe(404);
  expect((await get('/healthz', 'POST')).status).toBe(405);
  expect(lines).toMatchObject([
    { path: '/v1/threads', status: 404 },
    { path: '/healthz', status: 405 },
  ]);
});

test('a worker that is not ready reports the reason', async () => {
  const error = new AppError('unavailable', 'Redis is full.', { details: { redis: 'OOM' } });
  const { get } = await openTestEndpoint({ trouble: { part: 'redis', error } });
  const { status, headers, text } = await get('/readyz');
  expect([status, headers.get('retry-after')]).toEqual([503, '1']);
  expect(JSON.parse(text)).toEqual({
    status: 'not ready',
    missing: ['redis'],
    error: { code: 'unavailable', message: 'Redis is full.', details: { redis: 'OOM' } },
  });
  expect((await get('/healthz')).status).toBe(200);
});

test('a port in use is reported in one line', async () => {
  const { url } = await openTestEndpoint();
  const { port } = new URL(url);
  await expect(openTestEndpoint({ port: Number(port) })).rejects.toThrow(
    `HARNESS_WORKER_PORT: port ${port} on 127.0.0.1 is already in use; choose another port.`,
  );
});

test('turns are counted by outcome and path; attempts and durations are recorded', async () => {
  const { get, metrics } = await openTestEndpoint();
  const timings = { queuedMs: 20, sessionMs: 400, firstTokenMs: null, totalMs: 900 };
  const usage = { inputTokens: 10, outputTokens: 5, costUsd: 0.25 };
  metrics.turnEnded({
    attempt: 1,
    outcome: 'success',
    path: 'warm',
    timings,
    usage,
  });
  metrics.turnEnded({
    attempt: 2,
    outcome: 'handed back',
    path: 'none',
    timings: undefined,
    usage: undefined,
  });
  metrics.countSessions(() => ({
    sessions: 3,
    busy: 1,
    spares: 2,
    maxSessions: 5,
    evicted: 7,
    transcriptErrors: 0,
  }));
  const { text } = await get('/metrics');
  for (const line of [
    'harness_worker_turns_total{outcome="success",path="warm"} 1',
    'harness_worker_turns_total{outcome="handed_back",path="none"} 1',
    'harness_worker_attempts_total{attempt="2"} 1',
    'harness_worker_run_seconds_count{phase="queued"} 1',
    'harness_worker_run_seconds_sum{phase="total"} 0.9',
    'harness_worker_tokens_total{direction="output"} 5',
    'harness_worker_cost_usd_total 0.25',
    'harness_worker_sessions{state="idle"} 2',
    'harness_worker_sessions_evicted_total 7',
  ])
    expect(text).toContain(`${line}\n`);
  expect(text).not.toContain('phase="first_token"');
  // A second scrape: totals kept elsewhere are not added up.
  expect((await get('/metrics')).text).toContain('harness_worker_sessions_evicted_total 7\n');
  expect(text).toMatch(/^process_cpu_seconds_total \d/m);
  expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds \d/m);
});
