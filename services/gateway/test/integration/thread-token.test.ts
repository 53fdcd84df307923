import { threadTokenTtlSeconds } from '@harness/contracts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { bearer, openGateway, probe } from '../fixture.ts';
import { modernCaller } from '../mcp-wire.ts';
import { openRun } from '../open-run.ts';

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
const accept = { accept: 'application/json, text/event-stream' };

test('D4: a token of an earlier epoch is refused with 409, and REST refuses every thread token', async () => {
  const gateway = await openGateway({ plugins: [probe] });
  const { epoch, tokenOf } = await openRun(gateway);
  const post = async (credential: string) =>
    (await gateway.call('POST', '/mcp', { body: list, headers: { ...accept, ...bearer(credential) } }))
      .status;
  expect(await post(await tokenOf())).toBe(200);
  expect(await post(await tokenOf({ epoch: epoch - 1 }))).toBe(409);
  expect(await post(await tokenOf({}, 'another secret, as long'))).toBe(401);
  const onRest = await gateway.call('GET', '/v1/threads', { headers: bearer(await tokenOf()) });
  expect(onRest.status).toBe(401);
});

test('a token that expires is refused also on an open connection', async () => {
  const gateway = await openGateway({ plugins: [probe] });
  const { tokenOf } = await openRun(gateway);
  const client = modernCaller({ headers: bearer(await tokenOf()) });
  const call = async () => (await client.call(gateway.url, 'probe__whoami')).status;
  expect([await call(), await call()]).toEqual([200, 200]);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + threadTokenTtlSeconds * 1000 });
  onTestFinished(() => void vi.useRealTimers());
  expect(await call()).toBe(401);
});
