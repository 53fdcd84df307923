import { expect, test } from 'vitest';
import { openBus, refusalOf, tenant } from '../bus-fixture.ts';

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
