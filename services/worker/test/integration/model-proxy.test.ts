/** What a hostile session tries at its socket to the model. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { createModelProxies } from '../../src/sandbox/proxies/model-proxy.ts';

/** A proxy to a model that keeps what it gets, and answers when a request is complete. */
async function open() {
  const seen: IncomingMessage[] = [];
  const model = createServer((asked, response) => {
    seen.push(asked);
    asked.on('error', () => undefined);
    asked.resume().on('end', () => response.end('{}'));
  });
  await once(model.listen(0, '127.0.0.1'), 'listening');
  const { port } = model.address() as AddressInfo;
  const url = new URL(`http://127.0.0.1:${port}`);
  const endpoint = { url, headers: { 'x-api-key': 'of the worker' }, proxyEnv: {} };
  const proxies = createModelProxies(endpoint, createLogger('test', 'silent'));
  const folder = mkdtempSync(join(tmpdir(), 'proxy-'));
  const proxy = await proxies.create(join(folder, 'model'));
  onTestFinished(async () => {
    await proxy.close();
    proxies.close();
    model.closeAllConnections();
    model.close();
    rmSync(folder, { recursive: true });
  });
  const post = (headers: Record<string, string> = {}) =>
    request({
      socketPath: proxy.socketPath,
      path: '/v1/messages',
      method: 'POST',
      headers: { 'x-api-key': proxy.key, ...headers },
    });
  return { seen, proxy, post };
}

test('a request that was begun in a turn does not reach the model after it', async () => {
  const { seen, proxy, post } = await open();
  proxy.open();
  const slow = post();
  slow.write('{');
  const failed = once(slow, 'error');
  await expect.poll(() => seen.length).toBe(1);
  const [asked] = seen;
  proxy.shut();
  await failed;
  await expect.poll(() => asked?.destroyed).toBe(true);
  expect(asked?.complete).toBe(false);
  proxy.open();
  const next = post();
  next.end('{}');
  const [response] = (await once(next, 'response')) as [IncomingMessage];
  expect(response.resume().statusCode).toBe(200);
  expect(seen.at(-1)?.headers['x-api-key']).toBe('of the worker');
});

test('the number of a session’s connections is limited', async () => {
  const { proxy } = await open();
  const sockets: Socket[] = [];
  let closed = 0;
  for (let one = 0; one < 200; one++) {
    const socket = connect(proxy.socketPath);
    socket.on('error', () => undefined).on('close', () => closed++);
    sockets.push(socket.resume());
  }
  await expect.poll(() => closed).toBe(200 - 64);
  for (const socket of sockets) socket.destroy();
});
