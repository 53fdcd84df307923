import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedRedis } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { openBus, refusalOf, tenant } from '../bus-fixture.ts';

const patient = 60_000;

test('a waiting poll ends at once when a task is submitted, at whichever gateway', async () => {
  const { buses, register, waiting } = await openBus({}, 2);
  const [here, there] = buses as [(typeof buses)[0], (typeof buses)[0]];
  await register('w');
  const polling = there.poll({ tenant, name: 'w', timeoutMs: patient });
  await waiting('w');
  const begunAt = performance.now();
  await here.submit({ tenant, taskId: 't', payload: ['a', 1] });
  expect(await polling).toMatchObject({ taskId: 't', payload: ['a', 1], attempt: 1 });
  expect(performance.now() - begunAt).toBeLessThan(patient / 2);
});

test('of the workers that fit, the one that has waited longest is first', async () => {
  const { bus, register, submit, waiting } = await openBus();
  const names = ['a', 'b', 'c', 'd'];
  const order: string[] = [];
  for (const name of names) {
    await register(name, name === 'a' ? [] : ['gpu']);
    void bus.poll({ tenant, name, timeoutMs: patient }).then(
      (task) => order.push(`${name} ${task?.taskId}`),
      () => undefined, // the test is over
    );
    await waiting(name);
  }
  for (const taskId of ['1', '2', '3']) {
    await submit(taskId, { requires: ['gpu'] });
    await expect.poll(() => order.length).toBe(Number(taskId));
  }
  await submit('4');
  await expect.poll(() => order).toEqual(['b 1', 'c 2', 'd 3', 'a 4']);
});

test('when its time is over a poll returns null, and the worker is idle again', async () => {
  const { bus, register, submit, stateOfWorker, states } = await openBus();
  await register('w');
  expect(await bus.poll({ tenant, name: 'w', timeoutMs: 20 })).toBeNull();
  expect(await stateOfWorker('w')).toBe('idle');
  expect(await bus.stats(tenant)).toMatchObject({ workersPolling: 0 });
  await submit('t');
  expect(await states()).toEqual({ t: 'queued' });
});

test('a poller that disconnects loses its position; a task assigned to it meanwhile goes to another worker at once', async () => {
  const { bus, register, submit, states, stateOfWorker, waiting, dispatch } = await openBus();
  await Promise.all([register('leaver'), register('stayer')]);
  const leave = new AbortController();
  const left = refusalOf(bus.poll({ tenant, name: 'leaver', timeoutMs: patient, signal: leave.signal }));
  await waiting('leaver');
  const stayed = bus.poll({ tenant, name: 'stayer', timeoutMs: patient });
  await waiting('leaver', 'stayer');
  // The assignment is in Redis; its signal to the gateway and the client's disconnect happen at the same
  // time.
  dispatch.replicas.onSignal(({ kind }) => kind === 'bus_assigned' && leave.abort());
  const listeners = submit('t');
  leave.abort();
  await listeners;
  expect(await left).toBe('turn_cancelled');
  expect(await stayed).toMatchObject({ taskId: 't' });
  expect([await states(), await stateOfWorker('leaver')]).toEqual([{ t: 'assigned' }, 'idle']);
  expect(await bus.get(tenant, 't')).toMatchObject({ worker: 'stayer', losses: 0 });
});

test('a poller that disconnected before the first request to Redis gets nothing', async () => {
  const { bus, register, submit, states } = await openBus();
  await Promise.all([register('w'), submit('t')]);
  expect(await refusalOf(bus.poll({ tenant, name: 'w', timeoutMs: 0, signal: AbortSignal.abort() }))).toBe(
    'turn_cancelled',
  );
  await expect.poll(states).toEqual({ t: 'queued' });
});

test('a second poll of a worker replaces the first; a poll before the acknowledgement gets the same task again', async () => {
  const { bus, register, submit, waiting, redis, dispatch } = await openBus();
  await register('w');
  const first = bus.poll({ tenant, name: 'w', timeoutMs: patient });
  await waiting('w');
  const placeOf = () => redis.zscore(dispatch.keys.of('bpolling', tenant), 'w');
  const firstPlace = await placeOf();
  const second = bus.poll({ tenant, name: 'w', timeoutMs: patient });
  expect(await first).toBeNull();
  expect(await placeOf()).not.toBe(firstPlace);
  await submit('t');
  const given = await second;
  expect(given).toMatchObject({ taskId: 't', attempt: 1 });
  expect(await bus.poll({ tenant, name: 'w', timeoutMs: 0 })).toEqual(given);
  expect(await bus.get(tenant, 't')).toMatchObject({ state: 'assigned', losses: 0 });
  await bus.ack({ tenant, name: 'w', taskId: 't', lease: given?.lease });
  expect(await bus.get(tenant, 't')).toMatchObject({ state: 'in_progress' });
});

test('labels that change while a worker waits take effect at once', async () => {
  const { bus, register, submit, waiting } = await openBus();
  await register('w');
  const polling = bus.poll({ tenant, name: 'w', timeoutMs: patient });
  await waiting('w');
  await submit('t', { requires: ['gpu'] });
  await register('w', ['gpu']);
  expect(await polling).toMatchObject({ taskId: 't' });
});

test('a reset ends the poll of the worker', async () => {
  const { bus, register, waiting } = await openBus();
  await register('w');
  const polling = bus.poll({ tenant, name: 'w', timeoutMs: patient });
  await waiting('w');
  expect(await bus.reset(tenant, 'w')).toEqual({ before: 'polling', taskId: null });
  expect(await polling).toBeNull();
});

test('waiting workers of a dead gateway are skipped', async () => {
  const { buses, benches, bus, register, submit, take, waiting, stateOfWorker } = await openBus({}, 2);
  await Promise.all([register('stranded'), register('w')]);
  void buses[1]?.poll({ tenant, name: 'stranded', timeoutMs: patient }).catch(() => undefined);
  await waiting('stranded');
  const { dispatch, redis } = benches[1] as (typeof benches)[1];
  await redis.del(dispatch.keys.of('gw', dispatch.replicas.id)); // its liveness has expired
  await submit('t');
  expect(await stateOfWorker('stranded')).toBe('idle');
  expect(await take('w')).toMatchObject({ taskId: 't' });
  await bus.reset(tenant, 'w');
});

test('a poll whose end was never reported is removed by the sweep', async () => {
  const { bus, register, waiting, redis, dispatch, stateOfWorker } = await openBus();
  await register('w');
  void bus.poll({ tenant, name: 'w', timeoutMs: patient }).catch(() => undefined);
  await waiting('w');
  await redis.zadd(`${dispatch.keys.prefix}bpolls`, Date.now() - 60_000, `${tenant}:w`);
  await bus.sweep();
  expect([await stateOfWorker('w'), (await bus.stats(tenant)).workersPolling]).toEqual(['idle', 0]);
});

test('a task assigned while the gateway was disconnected is found when it reconnects', async () => {
  const { buses, benches, register, submit, waiting } = await openBus({}, 2);
  await register('w');
  const polling = buses[1]?.poll({ tenant, name: 'w', timeoutMs: patient });
  await waiting('w');
  const { subscriber } = benches[1] as (typeof benches)[1];
  const ended = once(subscriber, 'end');
  subscriber.disconnect();
  await ended;
  await submit('t');
  await subscriber.connect();
  expect(await polling).toMatchObject({ taskId: 't', attempt: 1 });
});

test('a gateway that shuts down ends its polls with null', async () => {
  const { bus, register, waiting, stateOfWorker } = await openBus();
  await register('w');
  const polling = bus.poll({ tenant, name: 'w', timeoutMs: patient });
  await waiting('w');
  bus.endPolls();
  expect(await polling).toBeNull();
  expect(await bus.poll({ tenant, name: 'w', timeoutMs: patient })).toBeNull();
  expect(await stateOfWorker('w')).toBe('idle');
});

test('a waiting poll causes no Redis commands', async () => {
  // A separate Redis: its counters cover all clients.
  const dir = await mkdtemp(join(tmpdir(), 'harness-bus-'));
  const server = await startEmbeddedRedis(dir);
  onTestFinished(async () => {
    await server.close();
    await rm(dir, { recursive: true });
  });
  const { bus, register, waiting, redis } = await openBus({}, 1, server.url);
  const names = Array.from({ length: 20 }, (_, n) => `w${n}`);
  await Promise.all(names.map((name) => register(name)));
  const scriptCalls = async () => {
    const stats = await redis.info('commandstats');
    return ['eval', 'evalsha'].reduce(
      (sum, name) => sum + Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0),
      0,
    );
  };
  const begun = await scriptCalls();
  const polls = names.map((name) => bus.poll({ tenant, name, timeoutMs: patient }));
  await waiting(...names);
  expect((await scriptCalls()) - begun).toBeGreaterThanOrEqual(names.length); // so the count counts
  const before = await scriptCalls();
  const commands = async () => Number(/total_commands_processed:(\d+)/.exec(await redis.info('stats'))?.[1]);
  const asked = await commands();
  for (let n = 0; n < 50; n++) await redis.ping();
  expect((await commands()) - asked).toBeLessThan(50 + 10); // heartbeats of the gateway, independent of the polls
  expect(await scriptCalls()).toBe(before);
  bus.endPolls();
  await Promise.all(polls);
});
