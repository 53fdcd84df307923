import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { connectTestRedis, openFakeWorker, openGateway } from '../fixture.ts';
import { readEvents } from '../read-events.ts';

async function openThread(gateway: Awaited<ReturnType<typeof openGateway>>) {
  const { body } = await gateway.call('POST', '/v1/threads', { body: {} });
  const send = (input: string) =>
    gateway.call('POST', `/v1/threads/${body.threadId}/runs`, { body: { input } });
  return { threadId: body.threadId as string, send };
}

test('an interrupted stream continues at another gateway, without gap or repeat', async () => {
  const tag = randomUUID();
  const [one, two] = [await openGateway({ tag }), await openGateway({ tag })];
  const worker = await openFakeWorker(one.dispatch, connectTestRedis());
  const { threadId, send } = await openThread(one);
  for (let n = 0; n < 5; n++) await send(`m${n}`);
  for (let n = 0; n < 3; n++) await worker.finish(threadId);

  const path = `/v1/threads/${threadId}/events?follow=true`;
  const first = await readEvents(one.url + path, { until: (event) => event.type === 'run.completed' });
  const lastId = first.at(-1)?.id ?? '';
  let ended = 0;
  const resumed = readEvents(two.url + path, {
    headers: { 'last-event-id': lastId },
    until: (event) => event.type === 'run.completed' && ++ended === 4,
  });
  for (let n = 0; n < 2; n++) await worker.finish(threadId);
  const seen = [...first, ...(await resumed)].filter((event) => event.id !== null);
  const { body } = await one.call('GET', `/v1/threads/${threadId}/events`, {
    headers: {
      accept: 'application/json',
    },
  });
  expect(seen).toEqual(body.events);
});

test("a run's stream begins with its acceptance and ends with its end", async () => {
  const gateway = await openGateway();
  const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
  const { threadId, send } = await openThread(gateway);
  await send('before');
  const { body: run } = await send('this one');
  const reading = readEvents(gateway.url + run.streamUrl);
  await worker.finish(threadId);
  await worker.finish(threadId, { status: 'success', result: 'ok' });
  const types = (await reading).map(({ type }) => type).filter((type) => type !== 'stream.replayed');
  expect(types).toEqual(['run.queued', 'run.started', 'run.completed']);
  // Later it is a replay, which ends.
  expect((await readEvents(gateway.url + run.streamUrl)).at(-1)?.type).toBe('run.completed');
});

test('a stream without follow is only the replay; a JSON page has a cursor', async () => {
  const gateway = await openGateway();
  const { threadId, send } = await openThread(gateway);
  await send('x');
  const replay = await readEvents(`${gateway.url}/v1/threads/${threadId}/events`);
  expect(replay.map(({ type }) => type)).toEqual(['thread.created', 'run.queued', 'stream.replayed']);
  const page = (after: string) =>
    gateway.call('GET', `/v1/threads/${threadId}/events?after=${after}`, {
      headers: {
        accept: 'application/json',
      },
    });
  const { body } = await page(replay[0]?.id ?? '');
  expect(body.events).toHaveLength(1);
  expect((await page(body.next)).body).toEqual({ events: [], next: body.next });
  expect((await page('nonsense')).body.error.code).toBe('invalid_request');
});

test('closing the gateway ends open streams', async () => {
  const gateway = await openGateway();
  const { threadId } = await openThread(gateway);
  const open = await Promise.all(
    Array.from({ length: 100 }, () => fetch(`${gateway.url}/v1/threads/${threadId}/events?follow=true`)),
  );
  const ended = open.map((response) => response.text());
  await gateway.app.close();
  for (const text of await Promise.all(ended)) expect(text).toContain('stream.replayed');
});

test('a client that does not read is disconnected, and the gateway buffers no more than its limit', async () => {
  const gateway = await openGateway();
  const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
  const { threadId, send } = await openThread(gateway);
  await send('x');
  const turn = await worker.begin(threadId);
  const connection = once(gateway.app.server, 'connection') as Promise<[Socket]>;
  const reader = request(`${gateway.url}/v1/threads/${threadId}/events?follow=true`, { agent: false }).end();
  const [serverSide] = await connection;
  const [response] = await once(reader, 'response');
  response.pause();
  response.on('error', () => undefined); // disconnected in the middle
  const text = 'x'.repeat(100_000);
  const cut = once(serverSide, 'close');
  for (let counter = 1; counter <= 100; counter++) {
    await gateway.dispatch.lease.emit(turn, { counter, events: [{ type: 'agent.message', text }] });
  }
  await cut;
  // Of 10 MB, the gateway wrote what the socket's buffers took, and its bound.
  expect(serverSide.bytesWritten).toBeLessThan(8_000_000);
});

test('a replay much larger than the limit reaches a client that reads', async () => {
  const gateway = await openGateway();
  const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
  const { threadId, send } = await openThread(gateway);
  await send('x');
  const turn = await worker.begin(threadId);
  const text = 'x'.repeat(10_000);
  for (let counter = 1; counter <= 150; counter++) {
    await gateway.dispatch.lease.emit(turn, { counter, events: [{ type: 'agent.message', text }] });
  }
  const replay = await readEvents(`${gateway.url}/v1/threads/${threadId}/events`);
  expect(replay.filter((event) => event.type === 'agent.message')).toHaveLength(150);
});

test('when a thread is deleted, its subscribers do not hang', async () => {
  const gateway = await openGateway();
  const { threadId } = await openThread(gateway);
  const path = `/v1/threads/${threadId}`;
  const watching = [
    readEvents(`${gateway.url}${path}/events?follow=true`),
    readEvents(`${gateway.url}${path}/events?follow=true&children=true`),
  ];
  const asked = gateway.call('POST', `${path}/runs/wait`, { body: { input: 'x' } });
  await readEvents(`${gateway.url}${path}/events?follow=true`, {
    until: ({ type }) => type === 'run.queued',
  });
  expect((await gateway.call('DELETE', path)).status).toBe(204);
  for (const seen of await Promise.all(watching))
    expect(seen.map(({ type }) => type)).toEqual(expect.arrayContaining(['thread.created', 'run.queued']));
  const { status, body } = await asked;
  expect([status, body.error.code]).toEqual([404, 'thread_not_found']);
});

test('a client that disconnects before its stream begins does not count as answering questions', async () => {
  const { url, app, call, dispatch } = await openGateway();
  const { threadId } = (await call('POST', '/v1/threads', { body: {} })).body;
  const { ownId } = await dispatch.threads.locate('default', threadId);
  const path = `/v1/threads/${threadId}/events?follow=true&answers=true`;
  app.server.once('request', (_request, response) => response.destroy());
  await expect(fetch(url + path)).rejects.toThrow();
  // Read after the stream's own reads, on the same connection to Redis.
  expect((await call('GET', `/v1/threads/${threadId}/events`)).status).toBe(200);
  expect(await dispatch.questions.isAttended(ownId)).toBe(false);

  const left = new AbortController();
  await fetch(url + path, { signal: left.signal });
  expect(await dispatch.questions.isAttended(ownId)).toBe(true);
  left.abort();
});
