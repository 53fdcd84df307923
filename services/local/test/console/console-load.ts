/** Load for the console: many threads, and a turn with many events. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { createDispatch, type Dispatch, type LeaseEvent, startLiveness, type Turn } from '@harness/dispatch';
import { connectRedis, createLogger } from '@harness/runtime';
import type { Page } from 'playwright-core';
import { openBrowser } from './browser.ts';

const tenant = 'default';
const logger = createLogger('console-load', 'silent');

/** A dispatch on the Redis of a fleet, in this process. */
export interface LoadSource {
  dispatch: Dispatch;
  /** Creates threads `t0`, `t1`, …; every tenth has the agent `writer`, every tenth a message that waits. */
  makeThreads(count: number): Promise<void>;
  /** Begins a turn on a new thread and writes events, evenly, for a time. Resolves with the number of stored ones. */
  playEvents(threadId: string, rate: { perMinute: number; seconds: number }): Promise<number>;
  close(): Promise<void>;
}

/** Connects to it. */
export async function openLoadSource(redisUrl: string): Promise<LoadSource> {
  const [redis, subscriber] = ['', ''].map(() => connectRedis(redisUrl, { logger, patience: 'wait' })) as [
    ReturnType<typeof connectRedis>,
    ReturnType<typeof connectRedis>,
  ];
  await Promise.all([redis, subscriber].map((connection) => once(connection, 'ready')));
  const dispatch = createDispatch({ redis, subscriber, logger });
  const workerId = `wrk_${randomUUID().replaceAll('-', '')}`;
  const liveness = await startLiveness(
    { redis, keys: dispatch.keys, logger },
    { workerId, ttlMs: 60_000, onUnhealthy: () => undefined },
  );
  const send = (threadId: string, input: string) =>
    dispatch.runs.append({ tenant, threadId, request: { input }, idempotencyKey: randomUUID() });
  const begin = async (threadId: string): Promise<Turn> => {
    await dispatch.threads.create(tenant, { threadId, ifExists: 'doNothing' });
    await send(threadId, 'A turn with many events');
    const { ownId } = await dispatch.threads.locate(tenant, threadId);
    const claim = await dispatch.lease.claim(ownId, liveness.me());
    if (claim.outcome !== 'mine') throw new Error(claim.outcome);
    const begun = await dispatch.lease.begin(claim.hold, randomUUID());
    if (!('turn' in begun)) throw new Error(begun.outcome);
    return begun.turn;
  };
  return {
    dispatch,
    async makeThreads(count) {
      for (let from = 0; from < count; from += 200) {
        const names = Array.from({ length: Math.min(200, count - from) }, (_, i) => from + i);
        await Promise.all(
          names.map(async (i) => {
            const agent = i % 10 === 0 ? { agent: 'writer' } : {};
            const thread = { threadId: `t${i}`, ifExists: 'doNothing' as const, metadata: { number: i } };
            const { created } = await dispatch.threads.create(tenant, { ...thread, ...agent });
            if (created && i % 10 === 5) await send(`t${i}`, `Message number ${i}`);
          }),
        );
      }
    },
    async playEvents(threadId, { perMinute, seconds }) {
      const turn = await begin(threadId);
      const startedAt = performance.now();
      let [written, stored, counter] = [0, 0, 0];
      while (performance.now() - startedAt < seconds * 1_000) {
        const due = Math.floor(((performance.now() - startedAt) / 60_000) * perMinute);
        const events = Array.from({ length: due - written }, (_, i) => eventOf(written + i));
        written = due;
        stored += events.filter(({ live }) => !live).length;
        if (events.length > 0)
          await dispatch.lease.emit(turn, { counter: ++counter, events, path: undefined });
        await setTimeout(20);
      }
      await dispatch.lease.commit(turn, { status: 'success', result: 'The end' });
      return stored;
    },
    async close() {
      await liveness.end();
      await dispatch.close();
      redis.disconnect();
    },
  };
}

/** A turn in small: text that streams, the message, a call and its result. */
function eventOf(number: number): LeaseEvent {
  const id = Math.floor(number / 10);
  const text = `Words number ${number}, which are some of many that a model says. `;
  if (number % 10 === 7) return { type: 'agent.message', text: text.repeat(3) };
  if (number % 10 === 8)
    return { type: 'agent.tool_use', toolUseId: `call_${id}`, name: 'time__current_time', input: { number } };
  if (number % 10 === 9)
    return { type: 'agent.tool_result', toolUseId: `call_${id}`, isError: id % 7 === 0, text };
  return { type: 'agent.message_delta', text, live: true };
}

/** The work of a page's main thread, ms of its own CPU time, so that other processes do not count. */
export interface FrameWork {
  /** The longest task. */
  longestMs: number;
  /** Script, style and layout in a sixtieth of a second, the 95th percentile of all. */
  p95Ms: number;
  frames: number;
}

interface TraceEvent {
  name: string;
  ph: string;
  ts: number;
  pid: number;
  tid: number;
  /** Wall time and CPU time, microseconds. */
  dur?: number;
  tdur?: number;
  args?: { name?: string };
}

const frameUs = 1_000_000 / 60;
/** Script, style and layout, as the browser names them. */
const work = new Set([
  'FunctionCall',
  'EvaluateScript',
  'TimerFire',
  'EventDispatch',
  'FireAnimationFrame',
  'RunMicrotasks',
  'UpdateLayoutTree',
  'Layout',
]);

/** Measures what a page's main thread does while something happens. */
export async function measureFrames(page: Page, during: () => Promise<unknown>): Promise<FrameWork> {
  const browser = await openBrowser();
  await browser.startTracing(page, {
    categories: ['devtools.timeline', 'disabled-by-default-devtools.timeline', '__metadata'],
  });
  await during();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: TraceEvent[];
  };
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
  const mains = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(threadOf),
  );
  const ofMain = traceEvents.filter((event) => event.ph === 'X' && event.tdur && mains.has(threadOf(event)));
  const tasks = ofMain.filter(({ name }) => name === 'RunTask');
  const busy = new Map<string, number>();
  for (const task of tasks) busy.set(threadOf(task), (busy.get(threadOf(task)) ?? 0) + (task.tdur ?? 0));
  const [main] = [...busy].toSorted(([, one], [, other]) => other - one)[0] ?? [];
  const own = ofMain.filter((event) => threadOf(event) === main).sort((one, other) => one.ts - other.ts);
  const frames = new Map<number, number>();
  let coveredUntil = 0;
  for (const { name, ts, dur = 0, tdur = 0 } of own) {
    // A forced layout is within the script that forces it.
    if (!work.has(name) || ts < coveredUntil) continue;
    coveredUntil = ts + dur;
    const frame = Math.floor(ts / frameUs);
    frames.set(frame, (frames.get(frame) ?? 0) + tdur);
  }
  const times = own.map(({ ts }) => ts);
  const all = Math.ceil((Math.max(...times) - Math.min(...times)) / frameUs);
  const idle = Array.from({ length: Math.max(0, all - frames.size) }, () => 0);
  const sorted = [...idle, ...frames.values()].sort((one, other) => one - other);
  return {
    longestMs:
      Math.max(0, ...own.filter(({ name }) => name === 'RunTask').map(({ tdur = 0 }) => tdur)) / 1_000,
    p95Ms: (sorted[Math.floor(sorted.length * 0.95)] ?? 0) / 1_000,
    frames: sorted.length,
  };
}

/** The median of the time that a request takes, ms, after one that warms up. */
export async function latencyOf(url: string, path: string, times = 15): Promise<number> {
  const taken: number[] = [];
  for (let i = 0; i <= times; i++) {
    const startedAt = performance.now();
    const response = await fetch(url + path);
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    await response.text();
    taken.push(performance.now() - startedAt);
  }
  return taken.slice(1).sort((one, other) => one - other)[Math.floor(times / 2)] as number;
}

/** The lists whose latency counts: all, by state, by agent, by time. */
export const lists = {
  all: '/v1/threads?limit=100&latestRun=true',
  busy: '/v1/threads?limit=10&state=busy&latestRun=true',
  agent: '/v1/threads?limit=10&agent=writer&latestRun=true',
  'last hour': `/v1/threads?limit=100&latestRun=true&from=${new Date(Date.now() - 3_600_000).toISOString()}`,
  text: '/v1/threads?limit=50&q=nowhere-to-be-found',
};
