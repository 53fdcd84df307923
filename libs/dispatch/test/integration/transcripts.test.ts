import { expect, test } from 'vitest';
import { type Bench, hold, openBench } from '../fixture.ts';

const tenant = 'default';
const key = { sessionId: 'session-1' };
const entry = (uuid: string, text = uuid) => ({ type: 'user', uuid, text });

async function openStore(limits = {}) {
  const bench = await openBench(limits);
  const { thread } = await bench.dispatch.threads.create(tenant, {});
  const held = await hold(bench, thread.threadId, await bench.alive('wrk_a'));
  return { bench, held, store: bench.dispatch.transcripts.storeOf(thread.threadId, () => held) };
}

const keysOf = async ({ redis }: Bench, threadId: string) => (await redis.keys(`*sess:${threadId}*`)).length;

test('entries are loaded unchanged and in order; a known uuid is not stored twice', async () => {
  const { store, bench, held } = await openStore();
  await store.append(key, [entry('a'), { type: 'mode', odd: { nested: ['“x”', 1, null] } }]);
  await store.append(key, [entry('a', 'again'), entry('b')]);
  expect(await store.load(key)).toEqual([
    entry('a'),
    { type: 'mode', odd: { nested: ['“x”', 1, null] } },
    entry('b'),
  ]);
  expect(await store.load({ sessionId: 'other' })).toBeNull();
  const { transcripts } = bench.dispatch;
  expect(await transcripts.hasMessage(held.threadId, key.sessionId, 'b')).toBe(true);
  expect(await transcripts.hasMessage(held.threadId, key.sessionId, 'c')).toBe(false);
});

test('subpaths are transcripts of their own, listed and deleted with their session', async () => {
  const { store } = await openStore();
  await store.append(key, [entry('a')]);
  await store.append({ ...key, subpath: 'agents/one' }, [entry('a')]);
  expect(await store.listSubkeys(key)).toEqual(['agents/one']);
  expect(await store.listSessions()).toEqual([{ sessionId: key.sessionId, mtime: expect.any(Number) }]);
  await store.delete(key);
  expect(await store.load(key)).toBeNull();
});

test('D4: a stale worker’s entries are refused', async () => {
  const { store, bench, held } = await openStore();
  await bench.dies('wrk_a');
  await hold(bench, held.threadId, await bench.alive('wrk_b'));
  await expect(store.append(key, [entry('a')])).rejects.toMatchObject({ code: 'stale_epoch' });
});

test('a process that replaces another ends the old one’s epoch', async () => {
  const { store, bench, held } = await openStore();
  const raised = await bench.dispatch.lease.raiseEpoch(held);
  expect(raised?.epoch).toBeGreaterThan(held.epoch);
  await expect(store.append(key, [entry('a')])).rejects.toMatchObject({ code: 'stale_epoch' });
  expect(await bench.dispatch.authorityOf(held)).toEqual({ outcome: 'stale' });
});

test('the size is bounded, and deleting the thread deletes all of it', async () => {
  const { store, bench, held } = await openStore({ transcriptBytes: 500 });
  await store.append(key, [entry('a', 'x'.repeat(300))]);
  await expect(store.append(key, [entry('b', 'x'.repeat(300))])).rejects.toMatchObject({
    code: 'body_too_large',
  });
  expect(await keysOf(bench, held.threadId)).toBe(3);
  await bench.dispatch.threads.delete(tenant, held.threadId);
  expect(await keysOf(bench, held.threadId)).toBe(0);
});

test('the ledger: a call runs once and then returns its result; begun and not ended is uncertain', async () => {
  const { bench, held } = await openStore();
  const { ledger } = bench.dispatch;
  const call = { threadId: held.threadId, epoch: held.epoch, toolUseId: 'toolu_1' };
  expect(await ledger.open(call)).toEqual({ outcome: 'run' });
  expect(await ledger.open(call)).toEqual({ outcome: 'uncertain' });
  await ledger.close(call, '{"content":[]}');
  expect(await ledger.open(call)).toEqual({ outcome: 'done', result: '{"content":[]}' });
  expect(await ledger.open({ ...call, epoch: 99 })).toEqual({ outcome: 'stale' });
});
