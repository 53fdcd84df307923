/**
 * Makes the dump with which later releases are tested: a fleet of an earlier release with work of every kind, ended by
 * kill -9 in the middle of it.
 *
 *   node services/local/test/data/make-data.ts <checkout of that release, with its packages> <file.rdb>
 *
 * version-1.rdb was made so from commit 74f73e3 with Redis 7.0. No key in it expires, so it can be loaded at any later
 * time; liveness keys and other keys that live for less than an hour are left out.
 */
import { once } from 'node:events';
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { connectRedis, createLogger, readEventStream } from '@harness/runtime';
import type { startFleet } from '../../src/fleet.ts';

const [checkout = '', file = ''] = process.argv.slice(2);
const module = await import(pathToFileURL(resolve(checkout, 'services/local/src/fleet.ts')).href);
const start = module.startFleet as typeof startFleet;

const dir = await mkdtemp(join(tmpdir(), 'harness-data-'));
const fleet = await start({
  redisDir: dir,
  port: 0,
  workers: 1,
  scripted: true,
  env: {
    PATH: process.env.PATH ?? '',
    LOG_LEVEL: 'warn',
    HARNESS_TOKEN_SECRET: 'nothing in the dump is signed with it',
    HARNESS_MAX_SESSIONS: '8',
    HARNESS_BUS_HEARTBEAT_MS: '300',
    HARNESS_BUS_MAX_LOSSES: '1',
  },
});
const redis = connectRedis(fleet.redisUrl, { logger: createLogger('data', 'warn'), patience: 'wait' });

async function call<T>(method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(fleet.url + path, {
    method,
    headers: body ? { 'content-type': 'application/json' } : {},
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}
const post = <T>(path: string, body: object = {}) => call<T>('POST', path, body);
const ask = (threadId: string, input: string) => post(`/v1/threads/${threadId}/runs/wait`, { input });
const send = (threadId: string, input: string) => post(`/v1/threads/${threadId}/runs`, { input });
/** Resolves at the first event of this type in the thread's tree. */
async function seen(threadId: string, type: string): Promise<void> {
  const url = `${fleet.url}/v1/threads/${threadId}/events?follow=true&children=true`;
  for await (const event of readEventStream(url)) if (event.type === type) return;
}

// Finished work.
// Threads are found by `is`; the caller chose the id of one.
const thread = async (is: string, more: object = {}) =>
  (await post<{ threadId: string }>('/v1/threads', { metadata: { is }, ...more })).threadId;
const named = await thread('named', { threadId: `thr_${'17'.repeat(16)}` });
const briefed = await thread('briefed', { systemPrompt: 'Be brief.' });
const [waits, isCut, delegated, delegates] = [
  await thread('waits'),
  await thread('is cut'),
  await thread('delegated'),
  await thread('delegates'),
];
await ask(named, 'remember: fig');
await ask(named, 'call: time__current_time {}\nsay: noted');
await ask(briefed, 'remember: plum');
await ask(waits, 'remember: quince');
await ask(delegated, 'delegate: say: the first report\nsay: it is delegated');
await seen(delegated, 'task.completed');
await call('PATCH', '/v1/plugins/context', { enabled: false });

// The bus.
const bus = (path: string, body?: object) => post<{ taskId: string; lease: string }>(`/v1/bus${path}`, body);
const take = async (name: string) => {
  await bus('/workers', { name });
  return bus(`/workers/${name}/poll`, { timeoutMs: 1_000 });
};
for (const [taskId, end] of [
  ['b-done', 'done'],
  ['b-blocked', 'failed'],
  ['b-dead', 'heartbeat'],
  ['b-working', 'ack'],
] as const) {
  const name = `w-${taskId}`;
  await bus('/tasks', { taskId, payload: { of: taskId } });
  const { lease } = await take(name);
  await bus(`/tasks/${taskId}/ack`, { name, lease });
  if (end === 'done') await bus(`/tasks/${taskId}/done`, { lease, result: { said: 'done' } });
  if (end === 'failed') await bus(`/tasks/${taskId}/failed`, { lease, reason: 'there is no such thing' });
  if (end === 'heartbeat') await bus(`/tasks/${taskId}/heartbeat`, { name, lease });
}
while ((await call<{ state: string }>('GET', '/v1/bus/tasks/b-dead')).state !== 'dead')
  await once(AbortSignal.timeout(100), 'abort');
await bus('/tasks', { taskId: 'b-assigned', payload: { of: 'b-assigned' } });
await take('w-b-assigned');
await bus('/tasks', { taskId: 'b-queued', payload: { of: 'b-queued' }, priority: 3 });

// Work in progress when the worker is killed.
const slow = (last: string) => `persist:\ncall: time__current_time {}\nsleep: 3000\nsay: ${last}`;
await send(isCut, slow('it went on'));
await post('/v1/tasks', { prompt: slow('the second report'), parentThreadId: delegates });
await seen(delegates, 'agent.tool_result');
await post('/v1/tasks', { prompt: 'say: the third report', parentThreadId: delegates });
await seen(delegates, 'task.review_started');
for (const { process: worker } of fleet.workers) worker.kill('SIGKILL');
await send(isCut, 'say: after it');
await send(waits, 'recall:');
fleet.gateway.process.kill('SIGKILL');
await fleet.gateway.exited;

const prefix = '{h}:';
for (const key of await redis.keys(`${prefix}*`)) {
  if ((await redis.pttl(key)) > 3_600_000) await redis.persist(key);
}
for (const key of await redis.keys(`${prefix}*`)) if ((await redis.pttl(key)) > 0) await redis.del(key);
await redis.save();
await copyFile(join(dir, 'dump.rdb'), file);
console.log(`${file}: ${await redis.dbsize()} keys; ${(await readdir(dir)).join(' ')}`);
for (const key of ['pend', 'working']) console.log(key, await redis.zrange(prefix + key, '0', '-1'));
console.log(await redis.hgetall(`${prefix}th:${isCut}`));
for (const key of await redis.keys(`${prefix}task:*`)) {
  const { prompt = '', status, phase } = await redis.hgetall(key);
  console.log(key, prompt.split('\n').at(-1), status, phase);
}
for (const key of await redis.keys(`${prefix}bt:*`)) console.log(key, await redis.hget(key, 'state'));
redis.disconnect();
await fleet.close();
await rm(dir, { recursive: true, force: true });
