import type { ThreadEvent } from '@harness/contracts';
import { expect, test } from 'vitest';
import { type Bench, beginTurn, openBench } from '../fixture.ts';

const tenant = 'default';

async function openTurn(bench: Bench) {
  const { thread } = await bench.dispatch.threads.create(tenant, {});
  const { threadId } = thread;
  await bench.dispatch.runs.append({ tenant, threadId, request: { input: 'x' }, idempotencyKey: 'k' });
  const turn = await beginTurn(bench, threadId, await bench.alive('wrk_a'));
  let counter = 0;
  const say = (text: string, live = false) =>
    bench.dispatch.lease.emit(turn, {
      counter: ++counter,
      events: [{ type: live ? 'agent.message_delta' : 'agent.message', text, live }],
    });
  return { threadId, say };
}

/** The events of a thread from `start` to the last one. */
async function take(
  bench: Bench,
  { threadId, after }: { threadId: string; after?: string },
  isLast: (event: ThreadEvent) => boolean,
) {
  const seen: ThreadEvent[] = [];
  await bench.dispatch.events.until(
    { threadId },
    { after },
    {
      isLast(event) {
        seen.push(event);
        return isLast(event);
      },
      signal: new AbortController().signal,
    },
  );
  return seen;
}

test('D7: a reader that resumes with its last id sees no gap and no repeat', async () => {
  const bench = await openBench();
  const { threadId, say } = await openTurn(bench);
  for (let n = 0; n < 10; n++) await say(`m${n}`);
  const first = await take(bench, { threadId }, (event) => event.data.text === 'm4');
  const rest = take(bench, { threadId, after: first.at(-1)?.id ?? '' }, (event) => event.data.text === 'm19');
  for (let n = 10; n < 20; n++) await say(`m${n}`);
  const texts = [...first, ...(await rest)].flatMap((event) => event.data.text ?? []);
  expect(texts).toEqual(Array.from({ length: 20 }, (_, n) => `m${n}`));
});

test('the end of the replay is marked, then events come live, deltas without an id', async () => {
  const bench = await openBench();
  const { threadId, say } = await openTurn(bench);
  let said: Promise<unknown> | undefined;
  const seen = await take(bench, { threadId }, (event) => {
    if (event.type === 'stream.replayed') said = say('he', true).then(() => say('hello'));
    return event.data.text === 'hello';
  });
  await said;
  const tail = seen.slice(-3).map(({ id, type }) => [type, id !== null]);
  expect(tail).toEqual([
    ['stream.replayed', false],
    ['agent.message_delta', false],
    ['agent.message', true],
  ]);
});

test('a cursor older than what is kept is refused', async () => {
  const bench = await openBench({ eventCap: 100 });
  const { threadId, say } = await openTurn(bench);
  const [oldest] = await bench.dispatch.events.read({ threadId }, undefined, 1);
  for (let n = 0; n < 300; n++) await say(`m${n}`);
  const late = bench.dispatch.events.read({ threadId }, oldest?.id ?? '', 10);
  await expect(late).rejects.toMatchObject({ code: 'events_trimmed' });
  await expect(bench.dispatch.events.read({ threadId }, 'nonsense', 10)).rejects.toMatchObject({
    code: 'invalid_request',
  });
});

test('a tree shows the events of all threads below its root, each once', async () => {
  const bench = await openBench();
  const { threadId } = await openTurn(bench);
  const { task } = await bench.dispatch.tasks.create({ tenant, prompt: 'p', parentThreadId: threadId });
  const tree = await bench.dispatch.events.read({ threadId, children: true }, undefined, 100);
  expect(tree.filter((event) => event.type === 'task.created')).toHaveLength(1);
  expect(new Set(tree.map((event) => event.data.threadId))).toEqual(new Set([threadId, task.threadId]));
});

test('reading until an event ends without an error when the thread is deleted', async () => {
  const bench = await openBench();
  const { thread } = await bench.dispatch.threads.create(tenant, {});
  const { threadId } = thread;
  let deleted: Promise<unknown> | undefined;
  const seen = await take(bench, { threadId }, ({ type }) => {
    if (type === 'stream.replayed') deleted = bench.dispatch.threads.delete(tenant, threadId);
    return false;
  });
  await deleted;
  expect(seen.map(({ type }) => type)).toContain('stream.replayed');
});
