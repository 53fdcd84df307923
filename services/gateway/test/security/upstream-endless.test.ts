/** Responses of upstreams that never end fail their call, and are not read beyond 16 MiB. */
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { openGateway, probe } from '../fixture.ts';
import { openHostileHttp } from '../hostile-http-server.ts';
import { fileOf, untilReady } from '../published-servers.ts';

const mib = 1024 * 1024;
const piece = Buffer.alloc(mib, 'x');
/** More than any limit, so that a body that is not cancelled fails the test instead of the machine. */
const most = 200 * mib;

/** Writes as fast as it is read; resolves with what was written until the connection was closed, bytes. */
async function writeWithoutEnd(response: ServerResponse, begin: string): Promise<number> {
  const closed = new Promise((resolve) => response.once('close', resolve));
  response.write(begin);
  const { socket } = response;
  while (!response.destroyed && (socket?.bytesWritten ?? 0) < most)
    if (!response.write(piece))
      await Promise.race([closed, new Promise((resolve) => response.once('drain', resolve))]);
  response.destroy();
  return socket?.bytesWritten ?? 0;
}

test.for([
  [
    'a result',
    200,
    'application/json',
    '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"',
  ],
  ['an event', 200, 'text/event-stream', 'data: '],
  ['a comment', 200, 'text/event-stream', ':'],
  ['an error', 500, 'text/plain', 'failed: '],
  ['no known content', 200, 'application/zip', ''],
] as const)('%s without an end', async ([, status, type, begin]) => {
  const written = Promise.withResolvers<number>();
  const url = await openHostileHttp((response) => {
    response.writeHead(status, { 'content-type': type });
    void writeWithoutEnd(response, begin).then(written.resolve);
  });
  const gateway = await openGateway({
    upstreams: fileOf({ web: { url, timeoutMs: 5_000 } }),
    plugins: [probe],
  });
  await untilReady(gateway, ['web']);
  const { body } = await gateway.call('POST', '/v1/tools/web__misbehave', { body: {} });
  expect(body).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('more than 16777216 bytes') }],
  });
  expect(await written.promise).toBeLessThan(64 * mib);
});
