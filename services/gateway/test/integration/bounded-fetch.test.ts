import { getEventListeners, once } from 'node:events';
import { createServer, globalAgent, type RequestListener } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { createBoundedFetch } from '../../src/upstreams/connection/bounded-fetch.ts';

const lines = 24;
const maxBytes = 16 * 64 * 1024;

/** Starts a server; resolves with its origin. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Reads a stream that repeats `line`, 64 KB, 24 times; resolves with the bytes that arrived. */
async function readEvents(line: string): Promise<number> {
  const origin = await serve((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (left: number) => {
      if (left > 0) response.write(line, () => send(left - 1));
      else response.end();
    };
    send(lines);
  });
  const response = await createBoundedFetch(new Set([origin]), { maxBytes })(origin);
  let bytes = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) bytes += chunk.length;
  return bytes;
}

const text = `data: ${'x'.repeat(64 * 1024)}`;

test.each(['\n\n', '\r\n\r\n', '\r\r'])('a stream may be longer than one event may be (%j)', async (end) => {
  const event = `${text}${end}`;
  expect(await readEvents(event)).toBe(event.length * lines);
});

test.each(['\n', '\r\n', '\r'])(
  'an event without an end is cut off, however its lines end (%j)',
  async (end) => {
    await expect(readEvents(`${text}${end}`)).rejects.toThrow(`more than ${maxBytes} bytes`);
  },
);

test('a response that is compressed without having been asked for is refused by name', async () => {
  const origin = await serve((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    response.end(gzipSync('{}'));
  });
  await expect(createBoundedFetch(new Set([origin]))(origin)).rejects.toThrow(
    'compressed its response (gzip)',
  );
});

const json = { 'content-type': 'application/json' };

test('requests one after another use one connection, and leave nothing at the signal', async () => {
  const sockets = new Set<object>();
  const origin = await serve((request, response) => {
    sockets.add(request.socket);
    response.writeHead(200, json).end('{"a":1}');
  });
  const fetch = createBoundedFetch(new Set([origin]));
  const { signal } = new AbortController();
  for (let n = 0; n < 3; n++) {
    const response = await fetch(`${origin}/x`, { method: 'POST', body: '{}', headers: json, signal });
    expect(await response.json()).toEqual({ a: 1 });
  }
  expect(sockets.size).toBe(1);
  await expect.poll(() => getEventListeners(signal, 'abort')).toEqual([]);
});

test('a response is as with fetch: texts, bytes, and statuses with and without a body', async () => {
  const origin = await serve((request, response) => {
    const [status, type] = new URL(request.url ?? '', origin).search.slice(1).split(',');
    response.writeHead(Number(status), { 'content-type': type }).end(status === '204' ? undefined : 'é{');
  });
  const bounded = createBoundedFetch(new Set([origin]));
  for (const asked of [
    '200,text/plain',
    '200,application/json',
    '201,image/png',
    '204,x/y',
    '404,text/html',
  ]) {
    const [expected, found] = await Promise.all([fetch, bounded].map((one) => one(`${origin}/?${asked}`)));
    for (const field of ['ok', 'status', 'statusText'] as const)
      expect(found?.[field]).toBe(expected?.[field]);
    expect(found?.headers.get('Content-Type')).toBe(expected?.headers.get('content-type'));
    expect(await found?.arrayBuffer()).toEqual(await expected?.arrayBuffer());
  }
  await expect((await bounded(`${origin}/?200,application/json`)).json()).rejects.toThrow(SyntaxError);
  expect(await (await bounded(`${origin}/?200,application/json`)).text()).toBe('é{');
});

test('a response is refused that is too large, cut off, redirected, or was cancelled', async () => {
  const began = Promise.withResolvers<void>();
  const origin = await serve((request, response) => {
    if (request.url === '/large') response.writeHead(200, json).end(Buffer.alloc(17 * 1024 * 1024));
    else if (request.url === '/moved') response.writeHead(302, { location: '/else' }).end();
    else if (request.url === '/cut') {
      response.writeHead(200, { ...json, 'content-length': 10 }).write('{', () => request.socket.destroy());
    } else began.resolve();
  });
  const fetch = createBoundedFetch(new Set([origin]));
  await expect(fetch(`${origin}/large`)).rejects.toThrow('more than 16777216 bytes');
  await expect(fetch(`${origin}/moved`)).rejects.toThrow('not followed');
  expect((await fetch(`${origin}/moved`, { redirect: 'manual' })).status).toBe(302);
  await expect(fetch(`${origin}/cut`)).rejects.toThrow('aborted');
  await expect(fetch('http://127.0.0.1:1/')).rejects.toThrow('not named');
  const controller = new AbortController();
  const waiting = fetch(`${origin}/slow`, { signal: controller.signal });
  await began.promise;
  controller.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
});

test('a stream ends with its reader, whatever is still on its way, and with its signal', async () => {
  const gone = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const origin = await serve((request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    response.once('close', () => gone[Number(request.url?.slice(1))]?.resolve());
  });
  const fetch = createBoundedFetch(new Set([origin]));
  await (await fetch(`${origin}/0`)).body?.cancel();
  await gone[0]?.promise;
  const controller = new AbortController();
  const reader = (await fetch(`${origin}/1`, { signal: controller.signal })).body?.getReader();
  await reader?.read();
  controller.abort(new Error('enough'));
  await expect(reader?.read()).rejects.toThrow('aborted');
  await gone[1]?.promise;
});

test('an error says why, also of a host with several addresses', async () => {
  const options = (globalAgent as unknown as { options: { lookup?: LookupFunction } }).options;
  onTestFinished(() => void delete options.lookup);
  options.lookup = (_host, _options, found) =>
    found(
      null,
      ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 })),
    );
  const origin = 'http://both.test:9';
  await expect(createBoundedFetch(new Set([origin]))(origin)).rejects.toThrow(
    'connect ECONNREFUSED 127.0.0.1:9',
  );
});
