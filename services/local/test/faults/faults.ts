/** The faults. After each the fleet is complete again, so they can follow each other in any order. */

import { createHash } from 'node:crypto';
import { setTimeout as after } from 'node:timers/promises';
import { defaultLimits, scriptAt, scriptText } from '@harness/dispatch';
import type { FaultFleet, FaultWorker } from './fault-fleet.ts';
import type { RedisProxy } from './tcp-proxy.ts';

export const isAlive = ({ process }: Pick<FaultWorker, 'process'>) =>
  process.exitCode === null && process.signalCode === null;

export const livingWorkers = ({ workers }: Pick<FaultFleet, 'workers'>) => workers.filter(isAlive);

/** F1 */
export async function killWorker(
  fleet: FaultFleet,
  victim = fleet.random.pick(livingWorkers(fleet)),
): Promise<void> {
  fleet.noteFamily();
  victim.process.kill('SIGKILL');
  await victim.exited;
  await fleet.addWorker();
}

/** F2: it continues without noticing that it was stopped. */
export async function stopWorker(
  fleet: FaultFleet,
  ms: number,
  victim = fleet.random.pick(livingWorkers(fleet)),
): Promise<void> {
  await stopFor(victim.process.pid as number, ms);
}

/** F4 */
export async function replaceWorker(fleet: FaultFleet): Promise<void> {
  const [old] = livingWorkers(fleet);
  await fleet.addWorker();
  await old?.end(20_000);
}

/** F5: never the first gateway, which the agents call. */
export async function killGateway(fleet: FaultFleet): Promise<void> {
  const used = new Set(fleet.gatewayUrls());
  const [, victim] = fleet.gateways.filter(({ ready }) => used.has(ready.url));
  if (victim) await fleet.killGateway(victim);
  await fleet.addGateway();
}

/** F7 */
export async function restartRedis(fleet: FaultFleet, awayMs: number): Promise<void> {
  await fleet.killRedis();
  await after(awayMs);
  await fleet.startRedis();
}

/** F8 */
export const stopRedis = (fleet: FaultFleet, ms: number) => stopFor(fleet.redisProcess().pid, ms);

async function stopFor(pid: number, ms: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await after(ms);
  process.kill(pid, 'SIGCONT');
}

export const proxiesOf = (fleet: FaultFleet): RedisProxy[] => [
  fleet.proxy,
  ...livingWorkers(fleet).map(({ proxy }) => proxy),
];

/** F13 */
export async function slowDown(fleet: FaultFleet, ms: number, forMs: number): Promise<void> {
  for (const proxy of proxiesOf(fleet)) proxy.mode({ kind: 'latency', ms });
  await after(forMs);
  for (const proxy of proxiesOf(fleet)) proxy.mode({ kind: 'pass' });
}

/** F13: one process silently loses Redis; the others do not. */
export async function cutOff(proxy: RedisProxy, forMs: number): Promise<void> {
  proxy.mode({ kind: 'blackhole' });
  await after(forMs);
  proxy.mode({ kind: 'pass' });
}

/** F14 */
export const flushScripts = async ({ redis }: FaultFleet): Promise<void> =>
  void (await redis.script('FLUSH'));

/** F24: adds a doorbell as BullMQ does, without checking whether one exists. */
export async function ringRaw({ redis }: FaultFleet, queue: string, threadId: string): Promise<void> {
  const prefix = `{h}:bull:${queue}`;
  const id = `raw-${await redis.incr(`${prefix}:id`)}`;
  await redis
    .multi()
    .hset(`${prefix}:${id}`, {
      name: 'message',
      data: JSON.stringify({ threadId }),
      opts: JSON.stringify({ attempts: 1, removeOnComplete: true, removeOnFail: true }),
      timestamp: Date.now(),
      delay: 0,
      priority: 0,
    })
    .lpush(`${prefix}:wait`, id)
    .zadd(`${prefix}:marker`, 0, '0')
    .exec();
}

/** Commands whose replies are lost, by name. */
export type CommandFilter = (args: string[]) => boolean;

/** A call of one of dispatch's scripts (`thread/append`), from a process with the usual limits. */
export function callOf(path: string): CommandFilter {
  const lua = scriptText(scriptAt(path), defaultLimits);
  const sha = createHash('sha1').update(lua).digest('hex');
  return ([command = '', code]) =>
    /^evalsha$/i.test(command) ? code === sha : /^eval$/i.test(command) && code === lua;
}

const isScript = ([command = '']: string[]) => /^eval(sha)?$/i.test(command);

/** BullMQ's own: a doorbell is rung, taken, finished. */
export const bullCommands: Record<string, CommandFilter> = {
  'add job': (args) => isScript(args) && args.some((arg) => /:bull:(assign|w\.\w+):id$/.test(arg)),
  'take job': (args) => isScript(args) && args.some((arg) => /:bull:(assign|w\.\w+):limiter$/.test(arg)),
  heartbeat: ([command = '', key = '']) => /^set$/i.test(command) && key.startsWith('{h}:w:'),
};
