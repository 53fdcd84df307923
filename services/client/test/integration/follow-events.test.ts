import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GatewayRefusal } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { followEvents } from '../../src/chat/follow-events.ts';

const frame = (id: string) =>
  `id: ${id}\nevent: agent.message\ndata: {"threadId":"thr_1","at":"","text":"${id}"}\n\n`;

/** A gateway with one scripted response per connection; the last one repeats. */
async function openGateway(script: ((response: ServerResponse) => void)[]) {
  const cursors: (string | undefined)[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    const answer = script[Math.min(cursors.length, script.length - 1)];
    cursors.push(request.headers['last-event-id'] as string | undefined);
    answer?.(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const reported: string[] = [];
  const follow = async (count: number, silenceMs?: number) => {
    const leave = new AbortController();
    const events = followEvents({
      url,
      headers: {},
      signal: leave.signal,
      onAway: (reason) => reported.push(`away: ${reason}`),
      onBack: () => reported.push('back'),
      onGap: () => reported.push('gap'),
      ...(silenceMs !== undefined && { silenceMs }),
    });
    const ids: (string | null)[] = [];
    for await (const { id } of events) if (ids.push(id) === count) break;
    leave.abort();
    return ids;
  };
  return { follow, cursors, reported };
}

const stream =
  (...ids: string[]) =>
  (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(ids.map(frame).join(''));
  };
const ending =
  (...ids: string[]) =>
  (response: ServerResponse) => {
    stream(...ids)(response);
    response.end();
  };
const refusing = (status: number) => (response: ServerResponse) => response.writeHead(status).end('{}');

test('resumes after the last event, over any number of failures', async () => {
  const { follow, cursors, reported } = await openGateway([
    ending('1', '2'),
    (response) => response.destroy(),
    refusing(503),
    stream('3'),
  ]);
  expect(await follow(3)).toEqual(['1', '2', '3']);
  expect(cursors).toEqual([undefined, '2', '2', '2']);
  expect(reported).toEqual(['away: the stream has ended', 'back']);
});

test('a silent connection is closed and opened again', async () => {
  const { follow, cursors, reported } = await openGateway([stream('1'), stream('2')]);
  expect(await follow(2, 1_000)).toEqual(['1', '2']);
  expect([cursors, reported]).toEqual([
    [undefined, '1'],
    ['away: the gateway has stopped sending', 'back'],
  ]);
});

test('if the log no longer has the next event, it reports a gap and starts again', async () => {
  const { follow, cursors, reported } = await openGateway([ending('1'), refusing(410), stream('7')]);
  expect(await follow(2)).toEqual(['1', '7']);
  expect(cursors).toEqual([undefined, '1', undefined]);
  expect(reported).toEqual(['away: the stream has ended', 'gap', 'back']);
});

test.each([400, 401, 403, 404])('status %i ends it without a retry', async (status) => {
  const { follow, cursors } = await openGateway([ending('1'), refusing(status)]);
  const failed = follow(2);
  await expect(failed).rejects.toBeInstanceOf(GatewayRefusal);
  await expect(failed).rejects.toMatchObject({ status });
  expect(cursors).toHaveLength(2);
});
