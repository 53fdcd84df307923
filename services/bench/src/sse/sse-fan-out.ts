/**
 * `npm run bench -- sse`: 1,000 subscribers of one thread at one gateway, compared with a loop that
 * serializes each event per subscriber, and one that serializes it once. Memory per subscriber is the RSS
 * with all subscribers minus the RSS before, each after garbage collection and a warm-up.
 *
 * This folder:
 *   servers.ts       the servers, each in a process of its own
 *   loop-server.ts   the raw limits: a bare loop over the subscribers
 *   subscribers.ts   the subscribers, in a process of their own
 *   settle-memory.ts collects garbage before memory is measured
 */
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startChild } from '@harness/runtime';
import { searchPath } from '../config.ts';
import { figureOf, ratioOf, textOf } from '../figures.ts';
import { cpuSecondsOf, rssMbOf } from '../mcp/load.ts';
import { type ServerName, type SseServer, startServer } from './servers.ts';

const subscriberCount = 1_000;
/** Subscribers of the warm-up: code gets compiled and buffers allocated. */
const warmUpCount = 100;
const events = 500;
const settleMs = 1_000;

interface SseRound {
  perSecond: number;
  cpuUs: number;
  /** CPU per delivery with one event at a time, so that no events can be batched, us. */
  pacedCpuUs: number;
  idleKb: number;
}

const names: ServerName[] = ['gateway', 'naive loop', 'shared buffer'];

/** Measures and prints the section. */
export async function reportSse(redisUrl: string, rounds: number): Promise<void> {
  const measured = new Map<ServerName, SseRound[]>(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of names) measured.get(name)?.push(await measure(name, redisUrl));
  }
  console.log(
    `SSE: ${subscriberCount} subscribers of one thread at one gateway, a burst of ${events} events`,
  );
  const of = (name: ServerName, field: keyof SseRound) => (measured.get(name) ?? []).map((one) => one[field]);
  for (const name of names) {
    const ratio = (field: keyof SseRound) =>
      name === 'naive loop' ? '' : ` (${textOf(ratioOf(of(name, field), of('naive loop', field)), '×')})`;
    console.log(`  ${name}${name === 'naive loop' ? '' : ' (× the naive loop in the same round)'}`);
    console.log(
      `    delivered             ${textOf(figureOf(of(name, 'perSecond')), '/s')}${ratio('perSecond')}`,
    );
    console.log(`    CPU a delivery        ${textOf(figureOf(of(name, 'cpuUs')), 'us')}${ratio('cpuUs')}`);
    console.log(
      `    CPU, one by one       ${textOf(figureOf(of(name, 'pacedCpuUs')), 'us')}${ratio('pacedCpuUs')}`,
    );
    console.log(`    idle subscriber       ${textOf(figureOf(of(name, 'idleKb')), 'KB')}${ratio('idleKb')}`);
  }
}

async function measure(name: ServerName, redisUrl: string): Promise<SseRound> {
  const server = await startServer(name, redisUrl);
  try {
    await (await open(server, warmUpCount)).leave();
    const before = await settledMb(server.pid);
    const subscribers = await open(server, subscriberCount);
    const idleKb = (1024 * ((await settledMb(server.pid)) - before)) / subscriberCount;

    const deliver = async (count: number) => {
      const complete = subscribers.complete(count);
      await server.emit(count);
      await complete;
    };
    const cpuUsOf = async (count: number, act: () => Promise<void>) => {
      const cpuBefore = cpuSecondsOf(server.pid);
      await act();
      return (1e6 * (cpuSecondsOf(server.pid) - cpuBefore)) / (count * subscriberCount);
    };
    await deliver(20); // warms up
    const startedAt = performance.now();
    const cpuUs = await cpuUsOf(events, () => deliver(events));
    const perSecond = (1000 * events * subscriberCount) / (performance.now() - startedAt);
    const paced = events / 5;
    const pacedCpuUs = await cpuUsOf(paced, async () => {
      for (let n = 0; n < paced; n++) await deliver(1);
    });
    await subscribers.leave();
    return { perSecond, cpuUs, pacedCpuUs, idleKb };
  } finally {
    await server.end();
  }
}

async function open(server: SseServer, count: number) {
  const child = await startChild({
    name: 'subscribers',
    main: fileURLToPath(new URL('subscribers.ts', import.meta.url)),
    args: [server.url, String(count), ...server.keys],
    env: { PATH: searchPath },
  });
  return {
    /** Resolves when each subscriber has received this many more events. */
    async complete(wanted: number) {
      const message = once(child.process, 'message');
      child.process.send(wanted);
      await message;
    },
    async leave() {
      child.process.send(null as unknown as string);
      await child.exited;
    },
  };
}

async function settledMb(pid: number): Promise<number> {
  for (let n = 0; n < 3; n++) {
    await wait(settleMs);
    process.kill(pid, 'SIGUSR2');
  }
  await wait(settleMs);
  return rssMbOf(pid);
}
