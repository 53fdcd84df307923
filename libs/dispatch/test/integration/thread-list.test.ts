/** Lists of threads: filters, pages, and the indexes behind them. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { defaultLimits, scriptAt, type ThreadQuery } from '../../src/index.ts';
import { type Bench, beginTurn, openBench } from '../fixture.ts';

const tenant = 'acme';

/** A bench with named threads of the tenant. */
async function openThreads(names: readonly string[] = []) {
  const bench = await openBench();
  const { dispatch, redis } = bench;
  const msOfRedis = async () => {
    const [seconds, us] = await redis.time();
    return Number(seconds) * 1000 + Math.floor(Number(us) / 1000);
  };
  /** Lists are in the order of milliseconds: each step begins in one of its own. */
  const inItsOwnMs = async <T>(step: () => Promise<T>): Promise<T> => {
    const result = await step();
    const endedAt = await msOfRedis();
    while ((await msOfRedis()) === endedAt);
    return result;
  };
  const create = (threadId: string, profile: { agent?: string; skill?: string; metadata?: object } = {}) =>
    inItsOwnMs(() => dispatch.threads.create(tenant, { threadId, ...profile } as never));
  for (const name of names) await create(name);
  const me = await bench.alive('wrk_1');
  const send = (threadId: string, input = 'hello') =>
    inItsOwnMs(() =>
      dispatch.runs.append({ tenant, threadId, request: { input }, idempotencyKey: randomUUID() }),
    );
  const ownIdOf = async (threadId: string) => (await dispatch.threads.locate(tenant, threadId)).ownId;
  const finish = async (threadId: string, status: 'success' | 'error' | 'cancelled' = 'success') => {
    const turn = await beginTurn(bench, await ownIdOf(threadId), me);
    await inItsOwnMs(() => dispatch.lease.commit(turn, { status, result: `done with ${threadId}` }));
  };
  const list = async (query: Partial<ThreadQuery> = {}) =>
    (await dispatch.threads.list(tenant, { limit: 50, ...query })).threads.map(
      ({ thread }) => thread.threadId,
    );
  return { ...bench, create, send, finish, list, ownIdOf };
}

const indexNames = async ({ dispatch, redis }: Pick<Bench, 'dispatch' | 'redis'>) =>
  (await redis.keys(`${dispatch.keys.prefix}thx:${tenant}:*`)).sort();

test('a thread is in the list of its state, its agent and its skill, and moves with them', async () => {
  const { list, create, send, finish, dispatch } = await openThreads();
  await create('a', { agent: 'writer', skill: 'notes' });
  await create('b', { agent: 'reader' });
  await create('c');
  expect(await list()).toEqual(['c', 'b', 'a']);
  expect(await list({ agent: 'writer' })).toEqual(['a']);
  expect(await list({ skill: 'notes' })).toEqual(['a']);
  await send('a');
  await send('b');
  expect([await list({ state: 'busy' }), await list({ state: 'idle' })]).toEqual([['b', 'a'], ['c']]);
  expect(await list({ state: 'busy', agent: 'writer' })).toEqual(['a']);
  await finish('a');
  await finish('b', 'error');
  expect(await list()).toEqual(['b', 'a', 'c']);
  expect([await list({ state: 'idle' }), await list({ state: 'error' })]).toEqual([['a', 'c'], ['b']]);
  expect(await list({ state: 'busy' })).toEqual([]);
  await dispatch.threads.update({ tenant, threadId: 'a' }, { agent: 'reader', skill: null });
  expect([
    await list({ agent: 'reader' }),
    await list({ agent: 'writer' }),
    await list({ skill: 'notes' }),
  ]).toEqual([['a', 'b'], [], []]);
});

test('pages follow one another in every list, also while threads are used', async () => {
  const names = Array.from({ length: 23 }, (_, i) => `t${String(i).padStart(2, '0')}`);
  const { dispatch, send, redis } = await openThreads(names);
  const read = async (query: Partial<ThreadQuery>, between?: () => Promise<unknown>) => {
    const seen: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await dispatch.threads.list(tenant, { limit: 5, ...query, ...(cursor && { cursor }) });
      seen.push(...page.threads.map(({ thread }) => thread.threadId));
      if (page.nextCursor === null) return seen;
      cursor = page.nextCursor;
      await between?.();
    }
  };
  // Threads of the same millisecond follow one another, too.
  const own = await redis.zrange(dispatch.keys.of('ths', tenant), '0', '-1');
  await redis.zadd(dispatch.keys.of('ths', tenant), ...own.slice(5, 20).flatMap((ownId) => ['1', ownId]));
  const { threads } = await dispatch.threads.list(tenant, { limit: 100 });
  const latestFirst = threads.map(({ thread }) => thread.threadId);
  expect(latestFirst.toSorted()).toEqual(names);
  expect(await read({})).toEqual(latestFirst);
  expect((await read({ state: 'idle' })).toSorted()).toEqual(names);
  // The thread of the cursor itself is used, and moves to the front: the rest is neither lost nor repeated.
  const used = [latestFirst[4], latestFirst[9], latestFirst[19]];
  const seen = await read({}, async () => {
    const next = used.shift();
    if (next) await send(next);
  });
  // The last one moved before the page that it would have been on.
  expect(seen).toEqual(latestFirst.filter((name) => name !== latestFirst[19]));
  await expect(dispatch.threads.list(tenant, { limit: 5, cursor: 'x' })).rejects.toMatchObject({
    code: 'invalid_request',
  });
});

test('text and metadata are searched in a bounded number of threads for each page', async () => {
  const { create, list, send, finish, dispatch, redis, ownIdOf } = await openThreads();
  await create('needle-in-the-name');
  await create('b', { metadata: { customer: 42, note: 'A NeedLe in it' } });
  await create('c');
  await create('d', { metadata: { customer: 'acme' } });
  await send('c', 'Where is the needle?');
  await finish('d').catch(() => undefined);
  expect(await list({ text: 'needle' })).toEqual(['c', 'b', 'needle-in-the-name']);
  expect(await list({ text: '%a+ [' })).toEqual([]); // a text, not a pattern
  await finish('c');
  expect(await list({ text: 'DONE with C' })).toEqual(['c']);
  await create('e', { metadata: { city: 'Århus' } });
  expect(await list({ text: 'ÅrHUS' })).toEqual(['e']);
  expect(await list({ field: { name: 'customer', value: '42' } })).toEqual(['b']);
  expect(await list({ field: { name: 'customer', value: 'acme' } })).toEqual(['d']);
  expect(await list({ text: 'needle', field: { name: 'customer', value: '42' } })).toEqual(['b']);

  // Beyond a thousand others, a page is empty and says where to go on.
  const old = await ownIdOf('needle-in-the-name');
  const fill = redis.pipeline();
  for (let i = 0; i < 1_100; i++) {
    fill.zadd(dispatch.keys.of('ths', tenant), Date.now() + i, `thr_${i}`);
    fill.hset(dispatch.keys.of('th', `thr_${i}`), { tenant, createdAt: '1', updatedAt: '1' });
  }
  await fill.exec();
  await redis.zadd(dispatch.keys.of('ths', tenant), 1, old);
  const first = await dispatch.threads.list(tenant, { limit: 5, text: 'in-the-name' });
  expect([first.threads.length, first.nextCursor]).toEqual([0, expect.any(String)]);
  const second = await dispatch.threads.list(tenant, {
    limit: 5,
    text: 'in-the-name',
    cursor: first.nextCursor as string,
  });
  expect(second.threads.map(({ thread }) => thread.threadId)).toEqual(['needle-in-the-name']);
});

test('a list of a time begins and ends there', async () => {
  const { list, redis, dispatch, ownIdOf } = await openThreads(['a', 'b', 'c']);
  for (const [name, at] of [
    ['a', 1_000],
    ['b', 2_000],
    ['c', 3_000],
  ] as const) {
    const id = await ownIdOf(name);
    await redis.zadd(dispatch.keys.of('ths', tenant), at, id);
    await redis.zadd(dispatch.keys.of('thx', `${tenant}:state:idle`), at, id);
  }
  for (const state of [undefined, 'idle'] as const) {
    expect(await list({ state, fromMs: 2_000 })).toEqual(['c', 'b']);
    expect(await list({ state, toMs: 2_000 })).toEqual(['b', 'a']);
    expect(await list({ state, fromMs: 1_500, toMs: 2_500 })).toEqual(['b']);
  }
});

test('a deleted or expired thread is in no list', async () => {
  const bench = await openThreads();
  const { create, dispatch, redis, ownIdOf } = bench;
  await create('a', { agent: 'writer', skill: 'notes' });
  await create('b', { agent: 'writer' });
  expect((await indexNames(bench)).length).toBe(3);
  await dispatch.threads.delete(tenant, 'a');
  await redis.zadd(dispatch.keys.of('ths', tenant), 1, await ownIdOf('b'));
  await redis.zadd(`${dispatch.keys.prefix}trim`, 0, tenant);
  const graces = { graceMs: 1_500, busyGraceMs: 5_000, taskGraceMs: 30_000, count: 200 };
  await dispatch.scripts.call(scriptAt('worker/sweep'), graces);
  expect(await indexNames(bench)).toEqual([]);
  expect(defaultLimits.retentionMs).toBeGreaterThan(0);
});

test('threads of an earlier release are indexed by the first list that needs them', async () => {
  const bench = await openThreads(['a', 'b', 'c']);
  const { redis, dispatch, list, send, ownIdOf } = bench;
  await send('b');
  await redis.del(...(await indexNames(bench)));
  for (const name of ['a', 'b', 'c'])
    await redis.hdel(dispatch.keys.of('th', await ownIdOf(name)), 'indexed');
  await send('c'); // used before the first list
  expect([await list({ state: 'idle' }), await list({ state: 'busy' })]).toEqual([['a'], ['c', 'b']]);
});

test('an index that no longer fits shows nothing wrong, and is right after the next use', async () => {
  const { redis, dispatch, list, send, finish, ownIdOf } = await openThreads(['a']);
  const id = await ownIdOf('a');
  await redis.zadd(dispatch.keys.of('thx', `${tenant}:state:error`), Date.now(), id); // as a torn script may leave it
  expect(await list({ state: 'error' })).toEqual([]);
  await send('a');
  await finish('a', 'error');
  expect(await list({ state: 'error' })).toEqual(['a']);
});

test('the latest run of each thread is shown with the beginnings of its texts', async () => {
  const { dispatch, send, finish, ownIdOf } = await openThreads(['a', 'b']);
  await send('a', 'x'.repeat(5_000));
  await finish('a');
  const ids = [await ownIdOf('a'), await ownIdOf('b')];
  const runs = await dispatch.threads.latestRuns(ids);
  expect([...runs.keys()]).toEqual([ids[0]]);
  const latest = runs.get(ids[0] as string);
  expect(latest).toMatchObject({ status: 'success', kind: 'message', result: 'done with a', error: null });
  expect(latest?.input.length).toBeLessThanOrEqual(200);
});
