/** Events of a tree are stored once, on their threads, and read in one order. */
import { expect, test } from 'vitest';
import { scriptAt } from '../../src/index.ts';
import { openBench } from '../fixture.ts';
import { openParent, tenant } from '../task-fixture.ts';

test('page by page, with children created meanwhile: every event once, in order, task events shown once', async () => {
  const bench = await openBench();
  const { parentThreadId, delegate } = await openParent(bench);
  const { events, runs, keys, scripts } = bench.dispatch;
  const scope = { threadId: parentThreadId, children: true };
  const made = [await delegate('toolu_1', 'one'), await delegate('toolu_2', 'two')];
  for (let n = 0; n < 30; n++) {
    const threadId = made[n % 2]?.task.threadId ?? '';
    await runs.append({ tenant, threadId, request: { input: 'x' }, idempotencyKey: `${n}` });
    if (n === 10) made.push(await delegate('toolu_3', 'three'));
    const { taskId = '' } = made[n % 2]?.task ?? {};
    await scripts.call(scriptAt('worker/note'), {
      taskId,
      noteId: `note ${n}`,
      type: 'task.checkin',
      fields: { message: `${n}` },
    });
  }
  const whole = await events.read(scope, undefined, 1_000);
  const ids = whole.map(({ id }) => id as string);
  expect(new Set(ids).size).toBe(ids.length);
  expect(whole.filter(({ type }) => type === 'task.created')).toHaveLength(3);
  expect(whole.filter(({ type }) => type === 'task.checkin')).toHaveLength(30);
  expect(whole.filter(({ type }) => type === 'run.queued')).toHaveLength(1 + 3 + 30);

  const paged: string[] = [];
  for (;;) {
    const page = await events.read(scope, paged.at(-1), 7);
    paged.push(...page.map(({ id }) => id as string));
    if (page.length === 0) break;
  }
  expect(paged).toEqual(ids);
  // Nothing is stored twice.
  expect(await bench.redis.exists(keys.of('tree', parentThreadId))).toBe(0);
});

test('a log of copies only does not hide the events after it', async () => {
  const bench = await openBench();
  const { parentThreadId, delegate } = await openParent(bench);
  const { task } = await delegate('toolu_1');
  const { events, keys } = bench.dispatch;
  const at = Date.now() + 1_000;
  const log = keys.of('ev', task.threadId);
  const base = ['at', String(at), 'threadId', task.threadId, 'data', '{}'];
  for (let n = 0; n < 300; n++)
    await bench.redis.xadd(log, `${at}-${n}`, 'type', 'task.checkin', ...base, 'copy', '1');
  await bench.redis.xadd(log, `${at}-300`, 'type', 'agent.message', ...base);
  await bench.redis.zadd(keys.of('evs', parentThreadId), at, task.threadId);
  const found = await events.read({ threadId: parentThreadId, children: true }, String(at - 1), 10);
  expect(found.map(({ type }) => type)).toEqual(['agent.message']);
});
