/**
 * `npm run bench -- bus-poll`: the time from the submission of a bus task at one gateway to its delivery to a
 * worker that polls at another, compared with BLPOP on the same Redis; and the cost of a thousand polling
 * workers: Redis commands, Redis connections, memory of the gateway (RSS with all of them minus RSS before,
 * each after garbage collection and a warm-up).
 */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { connectRedis, createLogger, type Redis } from '@harness/runtime';
import { figureOf, quantile, ratioOf, textOf } from '../figures.ts';
import { type GatewayProcess, settling, startGateway } from '../gateway.ts';
import { rssMbOf } from '../mcp/load.ts';

const pollers = 1_000;
/** Polls of the warm-up: code gets compiled and buffers allocated. */
const warmUp = 100;
const wakeUps = 200;
const pollMs = 120_000;
const quietMs = 10_000;
const settleMs = 1_000;

const logger = createLogger('bench', 'silent');

interface Round {
  wakeP50Ms: number;
  wakeP99Ms: number;
  blpopP50Ms: number;
  idleMb: number;
  connections: number;
  /** Redis commands within `quietMs`: with all workers polling (`Waiting`), and with none (`Alone`). */
  commandsWaiting: number;
  commandsAlone: number;
  scriptsWaiting: number;
  scriptsAlone: number;
}

/** Measures and prints the section. */
export async function reportBusPoll(redisUrl: string, rounds: number): Promise<void> {
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round++) measured.push(await measure(redisUrl));
  const of = (field: keyof Round) => measured.map((one) => one[field]);
  console.log(
    `Bus: a task submitted at one gateway -> delivered to a worker that polls at another, ${wakeUps} times`,
  );
  console.log(
    `  p50, p99                ${textOf(figureOf(of('wakeP50Ms')), 'ms')}, ${textOf(figureOf(of('wakeP99Ms')), 'ms')}`,
  );
  console.log(
    `  peer LPUSH -> BLPOP     ${textOf(figureOf(of('blpopP50Ms')), 'ms')}    p50, two bare connections`,
  );
  console.log(`  ratio, p50              ${textOf(ratioOf(of('wakeP50Ms'), of('blpopP50Ms')), '×')}`);
  console.log(`${pollers} workers that poll at one gateway`);
  console.log(`  memory of the gateway   ${textOf(figureOf(of('idleMb')), 'MB')}`);
  console.log(`  Redis connections       ${textOf(figureOf(of('connections')), '')}    of the gateway`);
  console.log(
    `  Redis commands, ${quietMs / 1000} s    ${textOf(figureOf(of('commandsWaiting')), '')}, of them scripts ${textOf(figureOf(of('scriptsWaiting')), '')}`,
  );
  console.log(
    `  the same, no polls      ${textOf(figureOf(of('commandsAlone')), '')}, of them scripts ${textOf(figureOf(of('scriptsAlone')), '')}`,
  );
}

async function measure(redisUrl: string): Promise<Round> {
  const redis = connectRedis(redisUrl, { logger, patience: 'wait' });
  await redis.flushall();
  const before = await connectionsOf(redis);
  const here = await startGateway(redisUrl, settling);
  try {
    const connections = (await connectionsOf(redis)) - before;
    const alone = await commandsIn(redis);
    const crowd = await openCrowd(here, warmUp);
    await crowd.leave();
    const emptyMb = await settledMb(here);
    const all = await openCrowd(here, pollers);
    const idleMb = (await settledMb(here)) - emptyMb;
    const waiting = await commandsIn(redis);
    await all.leave();
    const there = await startGateway(redisUrl, settling);
    const wakes = await wakeUpsOf(here, there).finally(() => there.end(20_000));
    const pops = await popsOf(redis, redisUrl);
    return {
      wakeP50Ms: quantile(wakes, 0.5),
      wakeP99Ms: quantile(wakes, 0.99),
      blpopP50Ms: quantile(pops, 0.5),
      idleMb,
      connections,
      commandsWaiting: waiting.commands,
      commandsAlone: alone.commands,
      scriptsWaiting: waiting.scripts,
      scriptsAlone: alone.scripts,
    };
  } finally {
    await here.end(20_000);
    redis.disconnect();
  }
}

async function call<T>({ ready }: GatewayProcess, path: string, body?: object): Promise<T> {
  const init = body
    ? { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
    : {};
  const response = await fetch(`${ready.url}/v1/bus/${path}`, init);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

/** Resolves when this many workers are polling. */
async function untilWaiting(gateway: GatewayProcess, count: number): Promise<void> {
  for (;;) {
    const { workersPolling } = await call<{ workersPolling: number }>(gateway, 'status');
    if (workersPolling === count) return;
    await wait(5);
  }
}

/** Opens polling workers, each on a separate connection. */
async function openCrowd(gateway: GatewayProcess, count: number) {
  const names = Array.from({ length: count }, (_, n) => `w${n}`);
  for (const name of names) await call(gateway, 'workers', { name });
  const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
  const requests = names.map((name) => {
    const polling = request(`${gateway.ready.url}/v1/bus/workers/${name}/poll`, {
      method: 'POST',
      agent,
      headers: { 'content-type': 'application/json' },
    });
    polling.on('error', () => undefined); // destroyed at the end
    polling.end(JSON.stringify({ timeoutMs: pollMs }));
    return polling;
  });
  await untilWaiting(gateway, count);
  return {
    async leave() {
      for (const polling of requests) polling.destroy();
      await untilWaiting(gateway, 0);
    },
  };
}

async function wakeUpsOf(here: GatewayProcess, there: GatewayProcess): Promise<number[]> {
  const name = 'woken';
  await call(here, 'workers', { name });
  const tookMs: number[] = [];
  for (let n = 0; n < wakeUps + warmUp; n++) {
    const taskId = `task-${n}`;
    const polling = call<{ lease: string }>(there, `workers/${name}/poll`, { timeoutMs: 30_000 });
    await untilWaiting(here, 1);
    const startedAt = performance.now();
    const submitting = call(here, 'tasks', { taskId, payload: { n } });
    const { lease } = await polling;
    if (n >= warmUp) tookMs.push(performance.now() - startedAt);
    await submitting;
    await call(there, `tasks/${taskId}/ack`, { name, lease });
    await call(there, `tasks/${taskId}/done`, { lease });
  }
  return tookMs.toSorted((a, b) => a - b);
}

async function popsOf(redis: Redis, redisUrl: string): Promise<number[]> {
  const popper = connectRedis(redisUrl, { logger, patience: 'wait' });
  const list = randomUUID();
  const tookMs: number[] = [];
  for (let n = 0; n < wakeUps + warmUp; n++) {
    const popping = popper.blpop(list, 30);
    await redis.ping();
    const startedAt = performance.now();
    await redis.lpush(list, 'x');
    await popping;
    if (n >= warmUp) tookMs.push(performance.now() - startedAt);
  }
  popper.disconnect();
  return tookMs.toSorted((a, b) => a - b);
}

const numberIn = (text: string, pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? 0);

const connectionsOf = async (redis: Redis) =>
  numberIn(await redis.info('clients'), /connected_clients:(\d+)/);

/** Redis commands within `quietMs`, without those of this measurement. */
async function commandsIn(redis: Redis): Promise<{ commands: number; scripts: number }> {
  const look = async () => {
    const text = await redis.info('all');
    const scripts =
      numberIn(text, /cmdstat_evalsha:calls=(\d+)/) + numberIn(text, /cmdstat_eval:calls=(\d+)/);
    return { scripts, commands: numberIn(text, /total_commands_processed:(\d+)/) };
  };
  await look();
  const before = await look();
  await wait(quietMs);
  const after = await look();
  return { commands: after.commands - before.commands - 1, scripts: after.scripts - before.scripts };
}

async function settledMb({ process: child }: GatewayProcess): Promise<number> {
  const pid = child.pid as number;
  for (let n = 0; n < 3; n++) {
    await wait(settleMs);
    process.kill(pid, 'SIGUSR2');
  }
  await wait(settleMs);
  return rssMbOf(pid);
}
