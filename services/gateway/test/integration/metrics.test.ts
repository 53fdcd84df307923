import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { connectTestRedis, openFakeWorker, openGateway, probe } from '../fixture.ts';

const metricsOf = async ({ call }: Pick<Awaited<ReturnType<typeof openGateway>>, 'call'>) =>
  (await call('GET', '/metrics')).body as string;

test('runs are counted by status and path, independently of live workers', async () => {
  const tag = randomUUID();
  const gateway = await openGateway({ tag });
  const other = await openGateway({ tag });
  const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
  const run = async (ending: Parameters<typeof worker.finish>[1]) => {
    const { threadId } = (await gateway.call('POST', '/v1/threads', { body: {} })).body;
    await gateway.call('POST', `/v1/threads/${threadId}/runs`, { body: { input: 'x' } });
    await worker.finish(threadId, ending);
  };
  await run({ status: 'success', result: 'done', path: 'warm' });
  await run({ status: 'success', result: 'done', path: 'cold' });
  await run({ status: 'timeout', error: { code: 'turn_timeout', message: 'late' }, path: 'cold' });
  await run({ status: 'cancelled' });

  // No worker has reported anything, so the counts do not come from live workers.
  const texts = await Promise.all([metricsOf(gateway), metricsOf(other)]);
  const [text = '', ...rest] = texts.filter((one) => one.includes('\nharness_runs_total{'));
  expect(rest, 'one gateway reports the fleet').toEqual([]);
  for (const line of [
    'harness_runs_total{status="success",path="warm"} 1',
    'harness_runs_total{status="timeout",path="cold"} 1',
    'harness_runs_total{status="cancelled",path="none"} 1',
    'harness_turns_total{path="warm"} 1',
    'harness_turns_total{path="cold"} 2',
    'harness_turns_total{path="resume"} 0',
  ])
    expect(text).toContain(`${line}\n`);
});

test('the oldest message that waits for a worker has an age; one that waits for its own thread has none', async () => {
  const gateway = await openGateway();
  const ageNow = async () =>
    Number((await metricsOf(gateway)).match(/^harness_oldest_waiting_seconds (\S+)/m)?.[1]);
  expect(await ageNow()).toBe(0);
  const { threadId } = (await gateway.call('POST', '/v1/threads', { body: {} })).body;
  const send = () => gateway.call('POST', `/v1/threads/${threadId}/runs`, { body: { input: 'x' } });
  await send();
  await expect.poll(ageNow).toBeGreaterThan(0.1);

  const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
  await worker.begin(threadId);
  await send();
  expect(await ageNow()).toBe(0);
});

test('tool calls are timed by tool; unknown names are no labels', async () => {
  const gateway = await openGateway({ plugins: [probe] });
  const call = (name: string, input = {}) =>
    gateway.call('POST', `/v1/tools/${name}`, { body: { arguments: input } });
  await call('probe__whoami');
  await call('probe__whoami');
  await call('probe__broken');
  await call('probe__strict', { n: 'none' });
  expect((await call('made__up')).status).toBe(404);
  const text = await metricsOf(gateway);
  for (const line of [
    'harness_tool_call_seconds_count{tool="probe__whoami",transport="rest",outcome="ok"} 2',
    'harness_tool_call_seconds_count{tool="probe__broken",transport="rest",outcome="error"} 1',
    'harness_tool_call_seconds_count{tool="probe__strict",transport="rest",outcome="error"} 1',
  ])
    expect(text).toContain(`${line}\n`);
  expect(text).not.toContain('made__up');
  expect(text).toMatch(/^harness_redis_write_seconds_count [1-9]/m);
});
