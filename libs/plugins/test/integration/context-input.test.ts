/** A plugin that passes wrong arguments to its context: it learns which field is wrong, and Redis gets nothing. */
import { randomUUID } from 'node:crypto';
import { defaultThreadIdOf } from '@harness/contracts';
import { createDispatch } from '@harness/dispatch';
import { silentLogger } from '@harness/plugin-kit';
import { connectRedis, createLogger } from '@harness/runtime';
import { expect, inject, onTestFinished, test } from 'vitest';
import { createPluginContext } from '../../src/plugin-context.ts';

const tenant = 'default';
const principal = { keyId: 'key', tenant, scopes: [] };
const namingSecret = 'a secret of at least sixteen characters';
const unused = () => Promise.reject(new Error('unused'));

async function open() {
  const logger = createLogger('test', 'silent');
  const connect = () => connectRedis(inject('redisUrl'), { logger, patience: 'wait' });
  const redis = connect();
  const dispatch = createDispatch({ redis, subscriber: connect(), logger, tag: randomUUID() });
  onTestFinished(async () => {
    await dispatch.close();
    redis.disconnect();
  });
  return createPluginContext('own', {
    dispatch,
    role: 'gateway',
    logger: silentLogger,
    invoker: { invoke: unused, prewarm: unused },
    namingSecret,
    toolServer: () => null,
    onTaskCreate: async () => undefined,
    tenantNow: () => tenant,
    isGlobal: true,
  });
}

test.each([
  ['bus.register', [{ tenant, name: { a: 1 } }], 'name: '],
  ['bus.register', [{ tenant, name: 'w', labels: Array(1_000_000).fill(1) }], 'labels: at most 32'],
  ['bus.ack', [{ tenant }], 'name: '],
  ['bus.ack', [{ tenant, name: 'w', taskId: 't', lease: null }], 'lease: '],
  ['bus.poll', [{ tenant, name: 'w', timeoutMs: 'soon' }], 'timeoutMs: '],
  ['bus.failed', [{ tenant, taskId: 't' }, 5], 'argument 2: '],
  ['bus.stats', [{}], 'argument 1: '],
  ['bus.workers', [tenant, { limit: 1.5, offset: 0 }], 'limit: '],
  ['tasks.create', [{ prompt: 5, parentThreadId: null, principal }], 'prompt: '],
  ['tasks.create', [{ prompt: 'x', parentThreadId: null, principal }], 'parentThreadId: '],
  ['tasks.create', [{ prompt: 'x', principal, tenant: 'another' }], 'tenant'],
  ['tasks.create', [{ prompt: 'x', principal: { ...principal, tenant: 5 } }], 'principal.tenant: '],
  ['tasks.wait', ['task_x', { timeoutMs: -1 }], 'timeoutMs: '],
  ['threads.get', [null], 'argument 1: '],
  ['threads.history', ['thread', { limit: 1.5 }], 'limit: '],
  ['threads.history', ['thread', { limit: 1e308 }], 'limit: '],
  ['threads.history', ['thread', { limit: 'x' }], 'limit: '],
  ['threads.history', ['thread'], 'argument 2: '],
  ['store.get', [{ toString: 1 }], 'argument 1: '],
  ['store.get', [['a', 'b']], 'argument 1: '],
  ['store.set', [{ toString: 1 }, 1], 'argument 1: '],
  ['store.delete', [null], 'argument 1: '],
  ['notify.resourceUpdated', [{ toString: 1 }], 'argument 1: '],
  ['notify.listChanged', ['everything'], 'argument 1: '],
  ['tools.call', [5, {}], 'argument 1: '],
  ['tools.narrow', [{ runId: { toString: 1 } }, ['a']], 'runId: '],
  ['tools.narrow', [{ runId: 'run_x' }, 'a'], 'argument 2: '],
  ['invoker.invoke', [{}], 'argument 1: '],
  ['invoker.invoke', ['go', { timeout: 1e12 }], 'timeout: '],
  ['invoker.invoke', ['go', { model: {} }], 'model: '],
  ['invoker.prewarm', [{ threadId: { toString: 1 } }], 'threadId: '],
  ['broadcast', [{ toString: 1 }, 1], 'ctx.broadcast: argument 1: '],
  ['global.store.get', [{ toString: 1 }], 'ctx.global.store.get: argument 1: '],
])('%s refuses wrong arguments (%#)', async (method, args, field) => {
  const ctx = await open();
  const found = method.split('.').reduce<object>((part, name) => Reflect.get(part, name), ctx);
  const run = found as (...given: unknown[]) => Promise<unknown>;
  await expect(run(...args)).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining(field),
  });
});

test('right arguments are passed on', async () => {
  const { bus, tasks, threads, store, notify, broadcast } = await open();
  const { signal } = new AbortController();
  await bus.register({ tenant, name: 'Ada’s laptop', labels: ['gpu'] });
  await bus.submit({ tenant, taskId: 't', payload: [1], priority: undefined, requires: ['gpu'] });
  const { lease } = (await bus.poll({ tenant, name: 'Ada’s laptop', timeoutMs: 0, signal })) ?? {};
  await bus.ack({ tenant, name: 'Ada’s laptop', taskId: 't', lease });
  expect(await bus.done({ tenant, taskId: 't', lease, name: undefined }, { ok: true })).toEqual({
    existing: false,
  });
  const parentThreadId = defaultThreadIdOf(namingSecret, principal);
  const { task } = await tasks.create({ prompt: 'x', model: undefined, parentThreadId, principal });
  const ended = await tasks.wait(task.taskId, { timeoutMs: 0, signal, onCheckin: () => undefined });
  expect(ended).toMatchObject({ prompt: 'x', status: 'working' });
  expect(await threads.history('none', { limit: 3 })).toEqual([]);
  await store.set('key', { a: 1 });
  expect(await store.get('key')).toEqual({ a: 1 });
  await notify.resourceUpdated('file:///x');
  await broadcast('event', undefined);
});
