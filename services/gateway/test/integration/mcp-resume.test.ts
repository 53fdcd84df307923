/** Streams of the 2025 era that are interrupted and resumed at another gateway. */
import { expect, test } from 'vitest';
import { beginSession, type Message, type OldSession, type Wire } from '../mcp-wire.ts';
import { openReplicas, type Replica } from '../open-replicas.ts';

const progressIn = (messages: Message[]) =>
  messages.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params.progress);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);
const token = { _meta: { progressToken: 'p' } };

/** A call of ten steps, interrupted after some; returns the ids of the received events. */
async function cutAfter(steps: number, { session, at }: { session: OldSession; at: Replica }) {
  at.play.go(steps);
  const stream = await session.call(at.url, 'play__steps', { args: { upTo: 10 }, id: 5, ...token });
  const ids: string[] = [];
  for (let n = 0; n <= steps; n++) ids.push((await stream.next())?.id ?? '');
  stream.cut();
  return ids;
}

async function readSteps(stream: Wire, count: number) {
  const messages: Message[] = [];
  while (messages.length < count) messages.push(await stream.message());
  return progressIn(messages);
}

test('an interrupted stream is resumed at another gateway, without gap or repeat, while the call still runs', async () => {
  const [a, b, c] = await openReplicas(['A', 'B', 'C']);
  const session = await beginSession(c.url);
  const ids = await cutAfter(3, { session, at: a });
  a.play.go(2); // without a reader
  const resumed = await session.listen(b.url, ids.at(-1));
  expect(await readSteps(resumed, 2)).toEqual([4, 5]);
  a.play.go(2);
  expect(await readSteps(resumed, 2)).toEqual([6, 7]);
  resumed.cut();
  const again = await session.listen(c.url, ids[1]);
  a.play.go(3);
  const messages = await again.rest();
  expect(progressIn(messages)).toEqual(range(2, 10));
  expect(messages.at(-1)).toMatchObject({ id: 5, result: { content: [{ text: '10 steps at A' }] } });
  // The result is stored, too, and a stream that was read completely ends.
  const whole = await (await session.listen(b.url, ids[0])).rest();
  expect(progressIn(whole)).toEqual(range(1, 10));
});

test('a question is asked on the resumed stream, and answered through a third gateway', async () => {
  const [a, b, c] = await openReplicas(['A', 'B', 'C']);
  const session = await beginSession(c.url, { capabilities: { elicitation: {} } });
  const stream = await session.call(a.url, 'play__ask');
  const first = await stream.next();
  stream.cut();
  const resumed = await session.listen(b.url, first?.id);
  const { id } = await resumed.message();
  await session.say(c.url, { id, result: { action: 'decline' } });
  expect((await resumed.message()).result.content[0].text).toContain('"action":"decline"');
});

test('an event id of another session, an unknown or invalid one is refused, and the session continues', async () => {
  const [a, b] = await openReplicas(['A', 'B']);
  const [session, other] = [await beginSession(a.url), await beginSession(a.url)];
  const ids = await cutAfter(1, { session, at: a });
  expect((await other.listen(b.url, ids[0])).status).toBe(400);
  const [stream = ''] = (ids[0] ?? '').split('_');
  for (const id of [
    `${stream}_18446744073709551616-0`,
    `${stream}_18446744073709551615-18446744073709551615`,
    '',
    '_',
    'nonsense',
    `${ids[0]}x`,
    '00000000-0000-0000-0000-000000000000_0-0',
  ])
    expect([id, (await session.listen(b.url, id)).status]).toEqual([id, 400]);
  a.play.go(9);
  expect(progressIn(await (await session.listen(b.url, ids[0])).rest())).toEqual(range(1, 10));
});

test('notifications of a call are bounded by their size, and its result arrives', async () => {
  const [a] = await openReplicas(['A']);
  const session = await beginSession(a.url);
  const args = { count: 100, chars: 100_000 };
  const messages = await (await session.call(a.url, 'play__shout', { args, ...token })).rest();
  expect(messages.at(-1)).toMatchObject({ result: { content: [{ text: 'done' }] } });
  expect(progressIn(messages)).toEqual(range(1, 41)); // 4 MiB of JSON
});

test('a client that resumes a call whose gateway died gets an error', async () => {
  const [a, b] = await openReplicas(['A', 'B']);
  const session = await beginSession(a.url);
  const ids = await cutAfter(2, { session, at: a });
  await a.dispatch.replicas.close(); // silent from now on
  const messages = await (await session.listen(b.url, ids[1])).rest();
  expect(progressIn(messages)).toEqual([2]);
  expect(messages.at(-1)).toMatchObject({ id: 5, error: { data: { code: 'call_lost' } } });
});

test('a client of 2025-06-18 gets no event ids: its protocol has no resumption', async () => {
  const [a] = await openReplicas(['A']);
  const session = await beginSession(a.url, { version: '2025-06-18' });
  a.play.go(2);
  const stream = await session.call(a.url, 'play__steps', { args: { upTo: 2 }, ...token });
  const frames = [await stream.next(), await stream.next(), await stream.next(), await stream.next()];
  expect(frames.map((frame) => frame?.id)).toEqual(['', '', '', undefined]);
});
