/** What a hostile session tries at its way to the gateway. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { expect, onTestFinished, test } from 'vitest';
import { createToolRelay, mostAtOnce } from '../../src/sandbox/proxies/tool-relay.ts';

/** A session behind a relay, to a gateway that holds its responses until their `release` event. */
async function open() {
  const held: ServerResponse[] = [];
  let streams = 0;
  const gateway = createServer(async (request, response) => {
    if (request.method === 'GET') {
      streams++;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      return;
    }
    const message = JSON.parse((await request.setEncoding('utf8').toArray()).join(''));
    if (message.id === undefined) return response.writeHead(202).end();
    held.push(response);
    response.once('release', () => {
      const text = JSON.stringify({ jsonrpc: '2.0', id: message.id, result: {} });
      response.writeHead(200, { 'content-type': 'application/json' }).end(text);
    });
  });
  await once(gateway.listen(0, '127.0.0.1'), 'listening');
  const { port } = gateway.address() as AddressInfo;
  const [session, inside] = InMemoryTransport.createLinkedPair();
  const answers: JSONRPCMessage[] = [];
  session.onmessage = (message) => answers.push(message);
  await createToolRelay({ url: `http://127.0.0.1:${port}/mcp`, token: 't' }).connect(inside);
  onTestFinished(async () => {
    await session.close();
    gateway.closeAllConnections();
    gateway.close();
  });
  const release = () => {
    for (const response of held.splice(0)) response.emit('release');
  };
  return { session, answers, held, release, streams: () => streams };
}

const call = (id: number): JSONRPCMessage => ({ jsonrpc: '2.0', id, method: 'tools/call' });

test('a flood of requests is refused beyond a limit, and the relay continues', async () => {
  const { session, answers, held, release } = await open();
  for (let id = 0; id < 5_000; id++) await session.send(call(id));
  await expect.poll(() => held.length).toBe(mostAtOnce);
  expect(answers).toHaveLength(5_000 - mostAtOnce);
  expect(answers[0]).toMatchObject({
    id: mostAtOnce,
    error: { message: expect.stringMatching(/same time/) },
  });
  release();
  await expect.poll(() => answers.length).toBe(5_000);
  await session.send(call(0));
  await expect.poll(() => held.length).toBe(1);
});

test('a session opens one stream, however often it says that it is ready', async () => {
  const { session, held, streams } = await open();
  for (let count = 0; count < 20; count++)
    await session.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  await expect.poll(streams).toBe(1);
  await session.send(call(1));
  await expect.poll(() => held.length).toBe(1);
  expect(streams()).toBe(1);
});
