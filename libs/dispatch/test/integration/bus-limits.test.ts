import type { ThreadEvent } from '@harness/contracts';
import { expect, test } from 'vitest';
import { openBus, refusalOf, tenant } from '../bus-fixture.ts';
import { openBench } from '../fixture.ts';

/** A lease this short expires before the next call. */
const overAtOnce = -1;

test('the bus is bounded: tasks that are not done, workers, payloads, results, done tasks, and time', async () => {
  const { bus, register, submit, takeAndAck, states, redis, dispatch } = await openBus({
    busMaxTasks: 2,
    busMaxWorkers: 1,
    busDoneCap: 1,
    retentionMs: 60_000,
  });
  await register('w');
  expect(await refusalOf(register('one too many'))).toBe('bus_full');
  const bustling = await openBench(
    { busMaxWorkers: 1, busSilentMs: -1 },
    { tag: dispatch.keys.prefix.slice(1, -2) },
  );
  expect((await bus.totals()).workers).toBe(1);
  await bustling.dispatch.bus.register({ tenant, name: 'in its place' });
  expect((await bus.totals()).workers).toBe(1);
  expect(await bus.workers(tenant, { limit: 9, offset: 0 })).toMatchObject([{ name: 'in its place' }]);
  await redis.del(dispatch.keys.of('bws', tenant), dispatch.keys.of('bw', `${tenant}:in its place`));
  await register('w');
  await register('w', ['again']);
  const tooLong = 'x'.repeat(256 * 1024);
  expect(await refusalOf(submit('t', { payload: tooLong }))).toBe('body_too_large');
  await submit('a', { payload: tooLong.slice(2) });
  await submit('b');
  expect(await refusalOf(submit('c'))).toBe('bus_full');
  expect(await refusalOf(submit('task_0123456789abcdef0123456789abcdef.1'))).toBe('invalid_request');
  for (const taskId of ['a', 'b']) {
    const { lease } = await takeAndAck('w');
    expect(await refusalOf(bus.done({ tenant, taskId, lease }, tooLong))).toBe('body_too_large');
    await bus.done({ tenant, taskId, lease }, 'short');
  }
  await submit('c');
  await bus.sweep(true);
  expect(await states()).toEqual({ b: 'done', c: 'queued' });
  const tag = dispatch.keys.prefix.slice(1, -2);
  const impatient = await openBench({ retentionMs: -1 }, { tag });
  await impatient.dispatch.bus.sweep(true);
  expect(await states()).toEqual({ c: 'queued' });
  expect(await bus.workers(tenant, { limit: 10, offset: 0 })).toEqual([]);
  const left = await redis.keys(`${dispatch.keys.prefix}b*`);
  expect(left.filter((name) => name.includes(':bt:')).map((name) => name.split(':').at(-1))).toEqual(['c']);
});

test('queued tasks require a bounded number of different sets of labels', async () => {
  const { bus, register, submit, takeAndAck, states } = await openBus({ busMaxTaskSets: 2 });
  await submit('a', { requires: ['a'] });
  await submit('b', { requires: ['b', 'c'] });
  expect(await refusalOf(submit('d', { requires: ['d'] }))).toBe('bus_full');
  await submit('again', { requires: ['a'] });
  expect(await bus.submit({ tenant, taskId: 'b', requires: ['other'] })).toMatchObject({ existing: true });
  await register('w', ['a', 'b', 'c']);
  expect((await takeAndAck('w')).taskId).toBe('a');
  await bus.done({ tenant, taskId: 'a', name: 'w' }, 1);
  expect((await takeAndAck('w')).taskId).toBe('b');
  await submit('d', { requires: ['d'] });
  // A task that returns is queued all the same.
  await bus.reset(tenant, 'w');
  expect((await takeAndAck('w')).taskId).toBe('b');
  expect(await states()).toEqual({ a: 'done', b: 'in_progress', again: 'queued', d: 'queued' });
});

test('waiting workers have a bounded number of different sets of labels', async () => {
  const { bus, register, submit, waiting } = await openBus({ busMaxWaitingSets: 2 });
  const stop = new AbortController();
  const wait = (name: string) => bus.poll({ tenant, name, timeoutMs: 60_000, signal: stop.signal });
  const polls = [];
  for (const name of ['x', 'y', 'z']) await register(name, [name]);
  for (const name of ['x', 'y']) {
    polls.push(wait(name));
    await waiting(name);
  }
  expect(await refusalOf(wait('z'))).toBe('bus_full');
  expect(await bus.poll({ tenant, name: 'z', timeoutMs: 0 })).toBeNull();
  expect(await refusalOf(register('x', ['z']))).toBe('bus_full');
  await register('z', ['x']);
  polls.push(wait('z'));
  await waiting('z');
  await submit('for x', { requires: ['x'] });
  expect((await polls[0])?.taskId).toBe('for x');
  stop.abort();
  await Promise.allSettled(polls);
});

test('a call about a task that nobody had is refused with its state', async () => {
  const { bus, register, submit } = await openBus();
  await register('w');
  await submit('t');
  const hold = { tenant, taskId: 't', name: 'w', lease: 'made-up' };
  for (const call of [bus.ack(hold), bus.heartbeat(hold), bus.done(hold, 1), bus.failed(hold, 'why')])
    await expect(call).rejects.toMatchObject({ code: 'wrong_state', details: { state: 'queued' } });
});

test('a bus belongs to its tenant', async () => {
  const { bus, register, submit } = await openBus();
  await Promise.all([register('w'), submit('t')]);
  await bus.register({ tenant: 'other', name: 'w' });
  expect(await bus.poll({ tenant: 'other', name: 'w', timeoutMs: 0 })).toBeNull();
  expect(await refusalOf(bus.get('other', 't'))).toBe('task_not_found');
  expect(await bus.submit({ tenant: 'other', taskId: 't' })).toEqual({ state: 'queued', existing: false });
  expect(await bus.stats(tenant)).toMatchObject({ depth: 1, workers: 1 });
});

test('the events of a bus can be followed from its beginning', async () => {
  const { bus, dispatch, register, submit, takeAndAck } = await openBus({ busSilentMs: overAtOnce });
  await Promise.all([register('w'), submit('t', { priority: 2 })]);
  await takeAndAck('w');
  await bus.sweep();
  const { signal } = new AbortController();
  const seen: string[] = [];
  let finished: Promise<unknown> | undefined;
  const finish = async () => {
    const task = await takeAndAck('w');
    await bus.done({ tenant, taskId: 't', lease: task.lease }, 'x');
  };
  const isLast = ({ type, data }: ThreadEvent) => {
    if (type === 'stream.replayed') finished = finish();
    else seen.push(`${type} ${data.taskId ?? data.worker}`);
    expect(data.threadId).toBeUndefined();
    return type === 'bus.task_done';
  };
  await dispatch.events.until({ busOf: tenant }, {}, { isLast, signal });
  await finished;
  expect(seen.toSorted().slice(0, 2)).toEqual(['bus.task_assigned t', 'bus.task_assigned t']);
  expect(seen.slice(2)).toEqual([
    'bus.task_assigned t',
    'bus.task_in_progress t',
    'bus.worker_lost t',
    'bus.task_queued t',
    'bus.task_assigned t',
    'bus.task_in_progress t',
    'bus.task_done t',
  ]);
});

test('after a pause between sweeps no lease expires at once', async () => {
  const { bus, register, submit, take, states, redis, dispatch } = await openBus({ busAckMs: overAtOnce });
  await Promise.all([register('w'), submit('t')]);
  await redis.set(`${dispatch.keys.prefix}bswept`, Date.now() - 60_000);
  await take('w');
  await bus.sweep();
  expect(await states()).toEqual({ t: 'assigned' });
  await bus.sweep();
  expect(await states()).toEqual({ t: 'queued' });
});

test('a task that a torn log dropped from its list is added again, and a stale list entry is skipped', async () => {
  const { bus, dispatch, redis, register, submit, take, states } = await openBus();
  const queue = dispatch.keys.of('bq', `${tenant}:`);
  await register('w');
  for (const taskId of ['gone', 'ended', 'lost']) await submit(taskId);
  await redis.zrem(queue, 'gone');
  await redis.hset(dispatch.keys.of('bt', `${tenant}:ended`), 'state', 'done');
  expect((await take('w')).taskId).toBe('lost');
  await redis.zrem(`${dispatch.keys.prefix}bdue`, `${tenant}:lost`);
  await redis.hset(dispatch.keys.of('bt', `${tenant}:ended`), 'state', 'queued');
  await bus.sweep(true);
  expect(await redis.zrange(queue, 0, '-1')).toEqual(['gone', 'ended']);
  await bus.sweep();
  expect(await states()).toEqual({ gone: 'queued', ended: 'queued', lost: 'queued' });
});
