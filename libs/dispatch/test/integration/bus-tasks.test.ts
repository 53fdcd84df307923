import { expect, test } from 'vitest';
import { openBus, refusalOf, tenant } from '../bus-fixture.ts';
import { openBench } from '../fixture.ts';

/** A lease this short expires before the next call. */
const overAtOnce = -1;

test('a task goes from submission to its one result', async () => {
  const { bus, register, submit, take, states, stateOfWorker } = await openBus();
  expect(await submit('t', { payload: { n: [1, {}] }, priority: 3 })).toEqual({
    state: 'queued',
    existing: false,
  });
  expect(await submit('t', { payload: 'another' })).toEqual({ state: 'queued', existing: true });
  await register('w', ['gpu', 'big']);

  const task = await take('w');
  expect(task).toMatchObject({ taskId: 't', payload: { n: [1, {}] }, priority: 3, attempt: 1 });
  expect([await stateOfWorker('w'), await states()]).toEqual(['pending', { t: 'assigned' }]);
  const hold = { tenant, taskId: 't', lease: task.lease };
  const { deadline } = await bus.ack({ ...hold, name: 'w' });
  expect(Date.parse(deadline) - Date.now()).toBeGreaterThan(1_700_000);
  expect(await stateOfWorker('w')).toBe('executing');
  const beat = await bus.heartbeat({ ...hold, name: 'w' });
  expect(Date.parse(beat.deadline)).toBeLessThan(Date.parse(deadline));

  expect(await bus.done(hold, { ok: true, n: 1 })).toEqual({ existing: false });
  expect(await bus.done(hold, { n: 1, ok: true })).toEqual({ existing: true });
  expect(await refusalOf(bus.done(hold, { ok: false }))).toBe('result_conflict');
  expect(await refusalOf(bus.done({ tenant, taskId: 't', name: 'w' }, undefined))).toBe('result_conflict');
  expect(await bus.get(tenant, 't')).toMatchObject({
    state: 'done',
    worker: 'w',
    result: { ok: true, n: 1 },
    deadline: null,
  });
  expect(await stateOfWorker('w')).toBe('idle');
  expect(await submit('t')).toEqual({ state: 'done', existing: true });
});

test('the worker of an assignment is recognized by its name, however often the task was assigned; a call without a name needs the lease', async () => {
  const { bus, register, submit, take, states } = await openBus({ busAckMs: overAtOnce });
  const hold = { tenant, taskId: 't' };
  await Promise.all([submit('t'), register('Ada Lovelace')]);
  await register('other');
  for (const _again of [1, 2]) {
    await take('Ada Lovelace');
    await bus.ack({ ...hold, name: 'Ada Lovelace' });
    await bus.retry(tenant, 't');
  }
  await take('Ada Lovelace');
  for (const name of ['other', 'ada lovelace', 'Ada'])
    expect(await refusalOf(bus.ack({ ...hold, name }))).toBe('lease_lost');
  await bus.ack({ ...hold, name: 'Ada Lovelace' });
  expect(await refusalOf(bus.done(hold, 'late'))).toBe('lease_required');
  expect(await refusalOf(bus.failed(hold, 'late'))).toBe('lease_required');
  expect(await refusalOf(bus.done({ ...hold, name: 'other' }, 'late'))).toBe('lease_lost');
  expect(await refusalOf(bus.failed({ ...hold, name: 'other' }, 'late'))).toBe('lease_lost');
  expect(await bus.done({ ...hold, name: 'Ada Lovelace' }, 'x')).toEqual({ existing: false });
  expect(await bus.done({ ...hold, name: 'Ada Lovelace' }, 'x')).toEqual({ existing: true });
  expect(await states()).toEqual({ t: 'done' });
});

test('each illegal move is refused and names the state', async () => {
  const { bus, register, submit, take } = await openBus();
  const hold = { tenant, taskId: 't' };
  const moves = {
    ack: () => bus.ack({ ...hold, name: 'w' }),
    done: () => bus.done(hold, 'x'),
    failed: () => bus.failed(hold, 'x'),
    retry: () => bus.retry(tenant, 't'),
  };
  const refused = async (names: (keyof typeof moves)[]) =>
    Object.fromEntries(await Promise.all(names.map(async (name) => [name, await refusalOf(moves[name]())])));

  expect(await refusalOf(bus.poll({ tenant, name: 'w', timeoutMs: 0 }))).toBe('worker_not_found');
  expect(await refused(['ack', 'done', 'failed', 'retry'])).toEqual({
    ack: 'task_not_found',
    done: 'task_not_found',
    failed: 'task_not_found',
    retry: 'task_not_found',
  });
  await submit('t');
  await register('w');
  await register('other');
  const queued = 'wrong_state: queued';
  expect(await refused(['ack', 'done', 'failed', 'retry'])).toEqual({
    ack: queued,
    done: queued,
    failed: queued,
    retry: queued,
  });
  const { lease } = await take('w');
  const assigned = 'wrong_state: assigned';
  expect(await refused(['done', 'failed', 'retry'])).toEqual({
    done: assigned,
    failed: assigned,
    retry: assigned,
  });
  expect(await refusalOf(bus.ack({ ...hold, name: 'other' }))).toBe('lease_lost');
  expect(await refusalOf(bus.heartbeat({ ...hold, name: 'w', lease }))).toBe(assigned);
  await moves.ack();
  await moves.ack(); // the answer may have been lost
  expect(await refusalOf(bus.poll({ tenant, name: 'w', timeoutMs: 0 }))).toBe('wrong_state: executing');
  expect(await refusalOf(bus.heartbeat({ ...hold, name: 'other', lease }))).toBe('lease_lost');
  await moves.failed();
  const blocked = 'wrong_state: blocked';
  expect(await refused(['ack', 'done'])).toEqual({ ack: blocked, done: blocked });
  expect(await bus.get(tenant, 't')).toMatchObject({ state: 'blocked', reason: 'x' });
});

test('an unacknowledged task and a silent one return to the queue with their age; the third time the task is dead', async () => {
  const { bus, register, submit, take, takeAndAck, states, stateOfWorker } = await openBus({
    busAckMs: overAtOnce,
    busSilentMs: overAtOnce,
  });
  await register('w');
  await submit('first');
  await submit('second');
  await take('w');
  await bus.sweep();
  expect([await states(), await stateOfWorker('w')]).toEqual([{ first: 'queued', second: 'queued' }, 'lost']);
  expect(await takeAndAck('w')).toMatchObject({ taskId: 'first', attempt: 2 });
  await bus.sweep();
  const last = await takeAndAck('w');
  expect(last).toMatchObject({ taskId: 'first', attempt: 3 });
  await bus.sweep();
  expect(await bus.get(tenant, 'first')).toMatchObject({ state: 'dead', losses: 3, reason: 'silent' });
  expect(await bus.tasks(tenant, { state: 'dead', limit: 10, offset: 0 })).toMatchObject([
    { taskId: 'first' },
  ]);
  expect(await refusalOf(bus.done({ tenant, taskId: 'first', lease: last.lease }, 'late'))).toBe(
    'wrong_state: dead',
  );
  expect(await bus.retry(tenant, 'first')).toEqual({ before: 'dead', state: 'queued' });
  expect(await bus.get(tenant, 'first')).toMatchObject({ losses: 0 });
});

test('a result with an old lease is refused and changes nothing', async () => {
  const { bus, register, submit, takeAndAck } = await openBus({ busSilentMs: overAtOnce });
  await Promise.all([register('slow'), register('quick'), submit('t')]);
  const old = await takeAndAck('slow');
  await bus.sweep();
  expect(await refusalOf(bus.done({ tenant, taskId: 't', lease: old.lease }, 'late'))).toBe('lease_lost');
  const now = await takeAndAck('quick');
  const before = await bus.get(tenant, 't');
  const late = { tenant, taskId: 't', lease: old.lease };
  expect(await refusalOf(bus.done(late, 'late'))).toBe('lease_lost');
  expect(await refusalOf(bus.failed(late, 'late'))).toBe('lease_lost');
  expect(await refusalOf(bus.heartbeat({ ...late, name: 'slow' }))).toBe('lease_lost');
  expect(await refusalOf(bus.ack({ ...late, name: 'slow' }))).toBe('lease_lost');
  expect(await bus.get(tenant, 't')).toEqual(before);
  await bus.done({ tenant, taskId: 't', lease: now.lease }, 'in time');
  expect(await refusalOf(bus.done(late, 'late'))).toBe('lease_lost');
  expect(await bus.get(tenant, 't')).toMatchObject({ result: 'in time', worker: 'quick' });
});

test('priority counts before age, and a task that returns gets its old position', async () => {
  const { bus, register, submit, take } = await openBus();
  await register('w');
  for (const [taskId, priority] of [
    ['a', 0],
    ['b', 5],
    ['c', -1000],
    ['d', 5],
    ['e', 1000],
    ['f', 0],
  ] as const) {
    await submit(taskId, { priority });
  }
  const order: string[] = [];
  for (let n = 0; n < 6; n++) {
    const { taskId, lease } = await take('w');
    order.push(taskId);
    await bus.ack({ tenant, name: 'w', taskId, lease });
    if (taskId === 'b' && order.filter((one) => one === 'b').length === 1) {
      await bus.reset(tenant, 'w');
      n--;
    } else await bus.done({ tenant, taskId, lease }, null);
  }
  expect(order).toEqual(['e', 'b', 'b', 'd', 'a', 'f', 'c']);
});

test('a task is given only to workers with the labels that it requires', async () => {
  const { bus, register, submit, take } = await openBus();
  await submit('both', { requires: ['gpu', 'big', 'gpu'], priority: 9 });
  await submit('big', { requires: ['big'] });
  await submit('any');
  await register('plain', ['bigger']);
  await register('strong', ['big', 'disk', 'gpu']);
  expect((await take('plain')).taskId).not.toBe('both');
  await bus.reset(tenant, 'plain');
  expect((await take('plain')).taskId).toBe('any');
  expect((await take('strong')).taskId).toBe('both');
  await bus.reset(tenant, 'strong');
  await bus.register({ tenant, name: 'strong', labels: ['big'] });
  expect((await take('strong')).taskId).toBe('big');
});

test('a reset worker is idle, whatever its state was, and its task returns without counting as lost', async () => {
  const { bus, register, submit, takeAndAck, stateOfWorker } = await openBus();
  await Promise.all([register('w'), submit('t')]);
  const { lease } = await takeAndAck('w');
  expect(await bus.reset(tenant, 'w')).toEqual({ before: 'executing', taskId: 't' });
  expect(await stateOfWorker('w')).toBe('idle');
  expect(await bus.get(tenant, 't')).toMatchObject({ state: 'queued', losses: 0, attempt: 1 });
  expect(await refusalOf(bus.done({ tenant, taskId: 't', lease }, 'late'))).toBe('lease_lost');
  expect(await bus.reset(tenant, 'w')).toEqual({ before: 'idle', taskId: null });
  expect(await refusalOf(bus.reset(tenant, 'nobody'))).toBe('worker_not_found');
});

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
  const leave = new AbortController();
  const seen: string[] = [];
  for await (const { type, data } of dispatch.events.follow({ busOf: tenant }, {}, leave.signal)) {
    if (type === 'stream.replayed') {
      const task = await takeAndAck('w');
      await bus.done({ tenant, taskId: 't', lease: task.lease }, 'x');
    } else seen.push(`${type} ${data.taskId ?? data.worker}`);
    expect(data.threadId).toBeUndefined();
    if (type === 'bus.task_done') break;
  }
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
