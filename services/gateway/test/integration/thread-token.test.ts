import { signThreadToken, threadTokenTtlSeconds } from '@harness/contracts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { bearer, connectTestRedis, openFakeWorker, openGateway, probe, tokenSecret } from '../fixture.ts';
import { modernCaller } from '../mcp-wire.ts';

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
const accept = { accept: 'application/json, text/event-stream' };

/** A gateway, and a thread on which a run is under way. */
async function openRun() {
  const gateway = await openGateway({ plugins: [probe] });
  const { thread } = await gateway.dispatch.threads.create('default', {});
  const { threadId } = thread;
  await gateway.dispatch.runs.append({
    tenant: 'default',
    threadId,
    request: { input: 'x' },
    idempotencyKey: 'k',
  });
  const turn = await (await openFakeWorker(gateway.dispatch, connectTestRedis())).begin(threadId);
  const tokenOf = (epoch: number, secret = tokenSecret) =>
    signThreadToken({ threadId, tenant: 'default', epoch }, secret);
  return { gateway, epoch: turn.hold.epoch, tokenOf };
}

test('D4: a token of an earlier epoch is refused with 409, and every token on REST', async () => {
  const { gateway, epoch, tokenOf } = await openRun();
  const post = async (credential: string) =>
    (await gateway.call('POST', '/mcp', list, { ...accept, ...bearer(credential) })).status;
  expect(await post(await tokenOf(epoch))).toBe(200);
  expect(await post(await tokenOf(epoch - 1))).toBe(409);
  expect(await post(await tokenOf(epoch, 'another secret, as long'))).toBe(401);
  const onRest = await gateway.call('GET', '/v1/threads', undefined, bearer(await tokenOf(epoch)));
  expect(onRest.status).toBe(401);
});

test('a token that expires on a connection that lasts is refused there, too', async () => {
  const { gateway, epoch, tokenOf } = await openRun();
  const client = modernCaller({ headers: bearer(await tokenOf(epoch)) });
  const call = async () => (await client.call(gateway.url, 'probe__whoami')).status;
  expect([await call(), await call()]).toEqual([200, 200]);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + threadTokenTtlSeconds * 1000 });
  onTestFinished(() => void vi.useRealTimers());
  expect(await call()).toBe(401);
});
