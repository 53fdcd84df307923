/**
 * Any history of moves by any caller, with valid, old and missing leases, keeps B1 to B4; checked against the
 * data in Redis.
 */
import { randomUUID } from 'node:crypto';
import { AppError, type BusTaskState } from '@harness/contracts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scriptAt } from '../../src/index.ts';
import { openBus } from '../bus-fixture.ts';

const workers = ['w0', 'w1'];
const tasks = ['t0', 't1'];
const labelSets = [[], ['gpu'], ['big', 'gpu']];
const states: BusTaskState[] = ['queued', 'assigned', 'in_progress', 'done', 'blocked', 'dead', 'withdrawn'];

const worker = fc.constantFrom(...workers);
const task = fc.constantFrom(...tasks);
const labels = fc.constantFrom(...labelSets);
/** Which of the leases issued for the task: the latest, an older one, or none. */
const lease = fc.constantFrom('latest', 'latest', 'old', 'none');
const move = fc.oneof(
  fc.record({ do: fc.constant('submit' as const), task, labels, priority: fc.integer({ min: -1, max: 1 }) }),
  fc.record({ do: fc.constant('register' as const), worker, labels }),
  fc.record({ do: fc.constant('poll' as const), worker }),
  fc.record({ do: fc.constant('poll' as const), worker }),
  fc.record({ do: fc.constant('wait' as const), worker }),
  fc.record({ do: fc.constant('leave' as const), worker, gone: fc.boolean() }),
  fc.record({ do: fc.constant('ack' as const), worker, task, lease }),
  fc.record({ do: fc.constant('ack' as const), worker, task, lease }),
  fc.record({ do: fc.constant('heartbeat' as const), worker, task, lease }),
  fc.record({ do: fc.constant('done' as const), task, lease, name: fc.option(worker, { nil: undefined }) }),
  fc.record({ do: fc.constant('failed' as const), task, lease, name: fc.option(worker, { nil: undefined }) }),
  fc.record({ do: fc.constant('reset' as const), worker }),
  fc.record({ do: fc.constant('retry' as const), task }),
  fc.record({ do: fc.constant('sweep' as const) }),
);
type Move = typeof move extends fc.Arbitrary<infer One> ? One : never;

/** Errors that a move may be refused with; any other is a bug. */
const refusals = new Set([
  'wrong_state',
  'lease_lost',
  'lease_required',
  'result_conflict',
  'task_not_found',
  'worker_not_found',
]);

async function openModel() {
  const house = await openBus({ busAckMs: 2, busSilentMs: 2, busHeartbeatMs: 2 });
  const { bus, dispatch, redis } = house;
  const { scripts, keys } = dispatch;
  const tenant = randomUUID(); // a separate bus for each history
  const given = new Map<string, string[]>();
  const polls = new Map<string, string>();
  const results = new Map<string, string>();

  const leaseOf = (id: string, which: string) => {
    const all = given.get(id) ?? [];
    return which === 'none' ? undefined : ((which === 'old' ? all.at(-2) : all.at(-1)) ?? 'never given');
  };
  const holderOf = (id: string) => redis.hget(keys.of('bt', `${tenant}:${id}`), 'worker');
  /**
   * B1: a call is accepted with the latest lease; without a lease, with the name of the task's worker;
   * without both, if the task had one lease only.
   */
  const believed = (
    id: string,
    held: string | undefined,
    named?: { name: string | undefined; holder: string | null },
  ) => {
    const all = given.get(id) ?? [];
    if (held === undefined && named?.name !== undefined) expect(named.name).toBe(named.holder);
    else expect(held ?? all[0]).toBe(all.at(-1));
  };
  const perform = async (one: Move): Promise<void> => {
    switch (one.do) {
      case 'submit':
        return void (await bus.submit({
          tenant,
          taskId: one.task,
          requires: one.labels,
          priority: one.priority,
        }));
      case 'register':
        return void (await bus.register({ tenant, name: one.worker, labels: one.labels }));
      case 'poll':
        return void (await bus.poll({ tenant, name: one.worker, timeoutMs: 0 }));
      case 'wait': {
        const poll = randomUUID();
        polls.set(one.worker, poll);
        const place = {
          tenant,
          name: one.worker,
          poll,
          replica: 'elsewhere',
          replicaTtlMs: 60_000,
          waitMs: 60_000,
        };
        return void (await scripts.call(scriptAt('bus/workers/bus-poll'), place));
      }
      case 'leave':
        return void (await scripts.call(scriptAt('bus/workers/bus-leave'), {
          tenant,
          name: one.worker,
          poll: polls.get(one.worker) ?? 'none',
          gone: one.gone,
        }));
      case 'ack':
      case 'heartbeat': {
        const hold = { tenant, taskId: one.task, name: one.worker, lease: leaseOf(one.task, one.lease) };
        const holder = await holderOf(one.task);
        await (one.do === 'ack' ? bus.ack(hold) : bus.heartbeat({ ...hold, lease: hold.lease ?? 'x' }));
        return believed(one.task, hold.lease, { name: one.worker, holder });
      }
      case 'done': {
        const { task: taskId, name } = one;
        const held = leaseOf(taskId, one.lease);
        const holder = await holderOf(taskId);
        // Half of the repeats send the same result; the others are refused.
        const result = (one.lease === 'latest' && results.get(taskId)) || randomUUID();
        const { existing } = await bus.done({ tenant, taskId, name, lease: held }, result);
        // B2: there was no result before.
        if (!existing) expect(results.has(one.task)).toBe(false);
        expect(existing).toBe(results.get(taskId) === result);
        results.set(taskId, result);
        return believed(taskId, held, { name, holder });
      }
      case 'failed': {
        const { task: taskId, name } = one;
        const held = leaseOf(taskId, one.lease);
        const holder = await holderOf(taskId);
        await bus.failed({ tenant, taskId, name, lease: held }, 'no');
        return believed(taskId, held, { name, holder });
      }
      case 'reset':
        return void (await bus.reset(tenant, one.worker));
      case 'retry':
        return void (await bus.retry(tenant, one.task));
      case 'sweep':
        return bus.sweep();
    }
  };

  /** What must be true after every move. */
  const check = async () => {
    const held = await Promise.all(
      tasks.map(async (id) => ({ id, ...(await redis.hgetall(keys.of('bt', `${tenant}:${id}`))) })),
    );
    const found = held.filter((one): one is typeof one & Record<string, string> => 'state' in one);
    const crew = await Promise.all(workers.map((name) => redis.hgetall(keys.of('bw', `${tenant}:${name}`))));
    const fits = (requires: string, has: string) =>
      requires.split(',').every((label) => label === '' || has.split(',').includes(label));
    for (const state of states) {
      const listed = await redis.zrange(keys.of('bst', `${tenant}:${state}`), '0', '-1');
      expect([state, listed.toSorted()]).toEqual([
        state,
        found.filter((one) => one.state === state).map(({ id }) => id),
      ]);
    }
    const queues = (await redis.smembers(keys.of('bqs', tenant))).map((one) =>
      keys.of('bq', `${tenant}:${one}`),
    );
    const queued = (await Promise.all(queues.map((list) => redis.zrange(list, '0', '-1')))).flat();
    expect(queued.toSorted()).toEqual(found.filter(({ state }) => state === 'queued').map(({ id }) => id));
    const due = (await redis.zrange(`${keys.prefix}bdue`, '0', '-1')).filter((one) =>
      one.startsWith(`${tenant}:`),
    );
    const leased = found.filter(({ state }) => state === 'assigned' || state === 'in_progress');
    expect(due.toSorted()).toEqual(leased.map(({ id }) => `${tenant}:${id}`));
    for (const { id, worker: name, lease: token, state } of leased) {
      const all = given.get(id) ?? given.set(id, []).get(id);
      if (token && !all?.includes(token)) all?.push(token);
      // B1: its lease is the latest, and its worker has this task and no other.
      expect(all?.at(-1)).toBe(token);
      const holder = crew.find((one) => one.name === name);
      expect([holder?.task, holder?.state]).toEqual([id, state === 'assigned' ? 'pending' : 'executing']);
    }
    for (const one of crew.filter(({ task: id }) => id !== undefined))
      expect(leased.map(({ id }) => id)).toContain(one.task);
    const waiting = crew.filter(({ state }) => state === 'polling');
    expect((await redis.zrange(keys.of('bpolling', tenant), '0', '-1')).toSorted()).toEqual(
      waiting.map(({ name }) => name),
    );
    for (const { labels: has = '' } of waiting)
      for (const { state, requires = '' } of found)
        expect(state === 'queued' && fits(requires, has)).toBe(false); // B3
    for (const { id, state, result } of found)
      if (state === 'done') expect(JSON.parse(result ?? '')).toBe(results.get(id));
  };
  return { perform, check };
}

test('any history of moves keeps B1 to B4', { timeout: 90_000 }, async () => {
  const seen = { done: 0, refused: 0 };
  const history = fc.array(move, { minLength: 80, maxLength: 120, size: 'max' });
  await fc.assert(
    fc.asyncProperty(history, async (moves) => {
      const { perform, check } = await openModel();
      for (const one of moves) {
        try {
          await perform(one);
          seen.done++;
        } catch (thrown) {
          if (!(thrown instanceof AppError) || !refusals.has(thrown.code)) throw thrown;
          seen.refused++;
        }
        await check();
      }
    }),
    { numRuns: 25 },
  );
  expect(seen.done).toBeGreaterThan(seen.refused / 2); // it is not all refusals
});
