/**
 * The cost of a run in Redis, and the cost of idle threads and tenants. The first with a real gateway, worker
 * and Agent SDK on scripted-model; the second on generated data, created by the production scripts.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as after } from 'node:timers/promises';
import { createDispatch, type Dispatch, scriptAt } from '@harness/dispatch';
import { connectRedis, createLogger, type Redis } from '@harness/runtime';
import { figureOf, quantile, textOf } from '../figures.ts';
import { type BenchFleet, startBenchFleet, startModel } from '../fleet.ts';
import { startGateway } from '../gateway.ts';

const logger = createLogger('bench', 'silent');
const runThreads = 4;
const runsPerThread = 60;
/** How long the load of the idle fleet is measured, ms. */
const idleMs = 5_000;

/** Measures and prints the section. */
export async function reportGrowth(redisUrl: string, rounds: number): Promise<void> {
  await reportRun(redisUrl, rounds);
  await reportBusyRun(redisUrl, rounds);
  await reportSizes(redisUrl);
}

interface RunCost {
  cpuUs: number;
  commands: number;
}

async function reportRun(redisUrl: string, rounds: number): Promise<void> {
  const model = await startModel();
  const redis = connectRedis(redisUrl, { logger, patience: 'wait' });
  const fleet = await startBenchFleet(model.ready.url, 1, { REDIS_URL: redisUrl });
  try {
    const threadIds = await Promise.all(Array.from({ length: runThreads }, fleet.thread));
    for (const threadId of threadIds) await fleet.ask(threadId, 'say: warm');
    const costs: RunCost[] = [];
    for (let round = 0; round < rounds; round++) costs.push(await measureRun(redis, fleet, threadIds));
    console.log(
      `A run on a warm thread, accepted -> committed, no subscribers (${runThreads} threads, the cost of an idle fleet subtracted)`,
    );
    console.log(`  CPU of Redis            ${textOf(figureOf(costs.map(({ cpuUs }) => cpuUs)), 'us')}`);
    console.log(`  its commands            ${textOf(figureOf(costs.map(({ commands }) => commands)), '')}`);
  } finally {
    await fleet.close();
    await model.end(10_000);
    redis.disconnect();
  }
}

const busyThreads = 32;
const busyRuns = 3_000;

/** The same steps at full speed without agents: the limit of Redis. */
async function reportBusyRun(redisUrl: string, rounds: number): Promise<void> {
  const cpuUs: number[] = [];
  const perSecond: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const redis = connectRedis(redisUrl, { logger, patience: 'wait' });
    const dispatch = createDispatch({
      redis,
      subscriber: connectRedis(redisUrl, { logger, patience: 'wait' }),
      logger,
      tag: randomUUID(),
    });
    const me = await aliveWorker(redis, dispatch);
    const threads = await Promise.all(
      Array.from({ length: busyThreads }, () => dispatch.threads.create('default', {})),
    );
    const before = await usageOf(redis);
    const startedAt = performance.now();
    let left = busyRuns;
    await Promise.all(
      threads.map(async ({ thread }) => {
        while (left-- > 0) await wholeRun(dispatch, thread.threadId, me);
      }),
    );
    perSecond.push((busyRuns * 1000) / (performance.now() - startedAt));
    cpuUs.push(((await usageOf(redis)).cpuUs - before.cpuUs) / busyRuns);
    await dispatch.close();
    redis.disconnect();
  }
  console.log('The steps of such a run at full speed: one message, two calls of emit, two of the transcript');
  console.log(`  CPU of Redis            ${textOf(figureOf(cpuUs), 'us')}`);
  console.log(`  runs by one process     ${textOf(figureOf(perSecond), '/s')}`);
}

async function wholeRun(dispatch: Dispatch, threadId: string, me: string): Promise<void> {
  const { lease, transcripts } = dispatch;
  await dispatch.scripts.call(scriptAt('thread/append'), appendArgs('default', threadId));
  const claim = await lease.claim(threadId, me);
  if (claim.outcome !== 'mine') throw new Error('not claimed');
  const begin = await lease.begin(claim.hold, randomUUID());
  if (!('turn' in begin)) throw new Error('no turn');
  const { turn } = begin;
  const store = transcripts.storeOf(threadId, () => claim.hold);
  const key = { projectKey: 'thread', sessionId: 'one' };
  const entry = () => ({ type: 'user', uuid: randomUUID(), text: 'x'.repeat(600) });
  let counter = Date.now() * 1_000 + turn.seq * 10;
  await lease.emit(turn, {
    counter: counter++,
    events: [{ type: 'agent.message_delta', live: true, text: 'done' }],
    path: 'warm',
  });
  await store.append(key, [entry()]);
  await lease.emit(turn, { counter: counter++, events: [{ type: 'agent.message', text: 'done' }] });
  await store.append(key, [entry()]);
  await lease.commit(turn, { status: 'success', result: 'done', path: 'warm', warmForMs: 480_000 });
}

async function measureRun(redis: Redis, fleet: BenchFleet, threadIds: string[]): Promise<RunCost> {
  const before = await usageOf(redis);
  await after(idleMs);
  const between = await usageOf(redis);
  const startedAt = performance.now();
  await Promise.all(threadIds.map((threadId) => sendAll(fleet, threadId)));
  const end = await usageOf(redis);
  const idleShare = (performance.now() - startedAt) / idleMs;
  const runs = threadIds.length * runsPerThread;
  const without = (of: (usage: Usage) => number) =>
    (of(end) - of(between) - (of(between) - of(before)) * idleShare) / runs;
  return { cpuUs: without(({ cpuUs }) => cpuUs), commands: without(({ commands }) => commands) };
}

/**
 * Sends all messages and waits for the last one's result: mail is done in order, so all others are done then.
 */
async function sendAll(fleet: BenchFleet, threadId: string): Promise<void> {
  for (let n = 1; n < runsPerThread; n++) await fleet.send(threadId, 'say: done');
  await fleet.ask(threadId, 'say: last');
}

interface Usage {
  cpuUs: number;
  /** Including those called by scripts. */
  commands: number;
}

async function usageOf(redis: Redis): Promise<Usage> {
  const [cpu, stats] = await Promise.all([redis.info('cpu'), redis.info('commandstats')]);
  const seconds = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(cpu)?.[1]);
  const calls = [...stats.matchAll(/^cmdstat_(?!info)[^:]+:calls=(\d+)/gm)].map(([, count]) => Number(count));
  return {
    cpuUs: (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6,
    commands: calls.reduce((sum, count) => sum + count, 0),
  };
}

const sizes = [
  { threads: 1_000, tenants: 10 },
  { threads: 10_000, tenants: 1_000 },
  { threads: 100_000, tenants: 10_000 },
];
const atOnce = 200;
const tries = 100;

async function reportSizes(redisUrl: string): Promise<void> {
  console.log(
    'Threads with one run each, and one waiting bus task per tenant: p50 of frequent operations, ms',
  );
  console.log('  threads, tenants        sweep   bus sweep   claim   list of 20   /metrics   memory');
  for (const size of sizes) {
    const tag = 'h'; // the key tag of the gateway whose /metrics is measured
    const redis = connectRedis(redisUrl, { logger, patience: 'wait' });
    await redis.flushall();
    const dispatch = createDispatch({
      redis,
      subscriber: connectRedis(redisUrl, { logger, patience: 'wait' }),
      logger,
      tag,
    });
    try {
      console.log(await sizeLine({ redisUrl, redis, dispatch }, size));
    } finally {
      await dispatch.close();
      await redis.flushall();
      redis.disconnect();
    }
  }
}

type Size = (typeof sizes)[number];

async function sizeLine(
  { redisUrl, redis, dispatch }: { redisUrl: string; redis: Redis; dispatch: Dispatch },
  { threads, tenants }: Size,
): Promise<string> {
  const empty = await memoryOf(redis);
  const made: { tenant: string; threadId: string }[] = [];
  await inParallel(threads, async (n) => {
    const tenant = `tenant-${n % tenants}`;
    const { thread } = await dispatch.threads.create(tenant, {});
    made.push({ tenant, threadId: thread.threadId });
  });
  const withThreads = await memoryOf(redis);
  const me = await aliveWorker(redis, dispatch);
  await inParallel(threads, async (n) => {
    const { tenant, threadId } = made[n] as (typeof made)[0];
    await dispatch.scripts.call(scriptAt('thread/append'), appendArgs(tenant, threadId));
    const claim = await dispatch.lease.claim(threadId, me);
    if (claim.outcome !== 'mine') throw new Error('not claimed');
    const begin = await dispatch.lease.begin(claim.hold, randomUUID());
    if (!('turn' in begin)) throw new Error('no turn');
    await dispatch.lease.commit(begin.turn, { status: 'success', result: 'done' });
    await dispatch.lease.release(claim.hold);
  });
  const withRuns = await memoryOf(redis);
  await inParallel(tenants, (n) =>
    dispatch.bus.submit({ tenant: `tenant-${n}`, taskId: 'one' }).then(() => undefined),
  );
  const gateway = await startGateway(redisUrl);
  try {
    const any = () => made[Math.floor(Math.random() * made.length)] as (typeof made)[0];
    const p50 = async (step: () => Promise<unknown>) => (await timesOf(step)).toFixed(2);
    const figures = [
      await p50(() =>
        dispatch.scripts.call(scriptAt('worker/sweep'), {
          graceMs: 1500,
          busyGraceMs: 5000,
          taskGraceMs: 30_000,
          count: 200,
        }),
      ),
      await p50(() => dispatch.bus.sweep(true)),
      await p50(async () => {
        const claim = await dispatch.lease.claim(any().threadId, me);
        if (claim.outcome === 'mine') await dispatch.lease.release(claim.hold);
      }),
      await p50(() => dispatch.threads.list(any().tenant, { limit: 20, offset: 0 })),
      await p50(async () => (await fetch(`${gateway.ready.url}/metrics`)).text()),
    ];
    const each = (bytes: number) => `${Math.round(bytes / threads)} B`;
    return `  ${`${threads}, ${tenants}`.padEnd(23)} ${figures.map((figure) => figure.padStart(8)).join(' ')}   thread ${each(withThreads - empty)}, run ${each(withRuns - withThreads)}`;
  } finally {
    await gateway.end(10_000);
  }
}

async function aliveWorker(redis: Redis, { keys }: Dispatch): Promise<string> {
  const workerId = `wrk_${randomUUID().replaceAll('-', '')}`;
  const me = `${workerId}#${randomUUID()}`;
  await redis.set(keys.of('w', workerId), me, 'PX', 3_600_000);
  return me;
}

const appendArgs = (tenant: string, threadId: string) => ({
  tenant,
  threadId,
  idemHash: randomUUID(),
  bodyHash: 'x',
  strategy: 'enqueue',
  mail: { runId: `run_${randomUUID().replaceAll('-', '')}`, kind: 'message', input: 'hello' },
});

async function timesOf(step: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < tries; n++) {
    const startedAt = performance.now();
    await step();
    times.push(performance.now() - startedAt);
  }
  return quantile(
    times.toSorted((one, other) => one - other),
    0.5,
  );
}

async function inParallel(count: number, step: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < count) await step(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

async function memoryOf(redis: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
}
