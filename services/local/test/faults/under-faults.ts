/** Runs a story of faults on a private fleet, and checks the state after it. */
import type { Redis } from '@harness/runtime';
import {
  checkEffects,
  checkKeys,
  checkOverlap,
  checkReader,
  checkRefusals,
  checkResults,
  gatherFacts,
  isSettled,
  type Tolerance,
} from './checker/checker.ts';
import { type FaultFleet, type FaultFleetOptions, type FaultGateway, openFaultFleet } from './fault-fleet.ts';
import { isAlive, livingWorkers } from './faults.ts';
import { type Load, type LoadOptions, startLoad } from './load.ts';
import { countFiles, processesWith, survivorsOf } from './processes.ts';
import { seedOf } from './random.ts';
import { until } from './until.ts';

/** D5: after the last fault, everything is finished within this, ms, plus the time of the work itself. */
const healLimitMs = 20_000;
/** Kept-alive connections, and short-lived ones to Redis. */
const fileSlack = 40;
const defaultSlackMs = 250;

export interface Story extends FaultFleet {
  /** Starts to send messages; the checker checks every load of the story. */
  load(options: LoadOptions): Promise<Load>;
  /** Resolves when every message has its result. */
  settled(load: Load): Promise<void>;
}

/** Without a `seed`, FAULT_SEED or a new one. */
export type StoryOptions = Partial<FaultFleetOptions & Tolerance>;

/** Descriptions of every problem after the story. Throws the error of the story, with the seed. */
export async function violationsOf(
  options: StoryOptions,
  play: (story: Story) => Promise<void>,
): Promise<string[]> {
  const { seed = seedOf() } = options;
  console.log(`FAULT_SEED=${seed}`);
  const fleet = await openFaultFleet({ ...options, seed });
  const loads: Load[] = [];
  const tolerance: Tolerance = { slackMs: defaultSlackMs, ...options };
  const wrong: string[] = [];
  let living: Pick<FaultGateway, 'process'>[] = [];
  try {
    const story: Story = Object.assign(Object.create(fleet), {
      async load(wanted: LoadOptions) {
        const load = await startLoad(wanted, {
          client: fleet.client,
          gateways: fleet.gatewayUrls,
          random: fleet.random,
        });
        loads.push(load);
        return load;
      },
      settled: (load: Load) => settle(fleet, load),
    });
    const filesBefore = filesOf(fleet);
    await play(story);
    for (const load of loads) wrong.push(...(await judge(fleet, load, tolerance)));
    wrong.push(...checkRefusals(fleet.client));
    wrong.push(...(await judgeLeftovers(fleet, loads, filesBefore)));
    fleet.noteFamily();
  } catch (error) {
    throw new Error(`${(error as Error).message} (FAULT_SEED=${seed}; so far: ${wrong.join('; ')})`, {
      cause: error,
    });
  } finally {
    living = [...fleet.gateways, ...fleet.workers].filter(isAlive);
    await Promise.all(loads.flatMap(({ readers }) => readers.map((reader) => reader.close())));
    await fleet.close();
  }
  for (const { process } of living) {
    if (process.exitCode !== 0)
      wrong.push(
        `D6 process ${process.pid} was asked to end and ended with ${process.exitCode ?? process.signalCode}`,
      );
  }
  return [...wrong, ...(await judgeProcesses(fleet))];
}

async function settle({ client }: FaultFleet, load: Load): Promise<void> {
  await load.accepted;
  await until('D5 every message has its result', () => isSettled(client, load), healLimitMs).catch(
    () => undefined,
  );
}

async function judge(fleet: FaultFleet, load: Load, tolerance: Tolerance): Promise<string[]> {
  await settle(fleet, load); // checkResults reports what is still open
  const facts = await gatherFacts(fleet.client, load, fleet.effects.read());
  const wrong = facts.flatMap((one) => [
    ...checkResults(one),
    ...checkOverlap(one, tolerance),
    ...checkEffects(one),
  ]);
  for (const { threadId, seen } of load.readers) {
    const events = facts.find((one) => one.threadId === threadId)?.events ?? [];
    const judged = () => checkReader(events, seen, threadId);
    await until('readers have caught up', () => judged().length === 0, healLimitMs).catch(() => undefined);
    wrong.push(...judged());
  }
  return wrong;
}

const filesOf = ({ gateways }: FaultFleet) =>
  new Map(gateways.map(({ process: { pid = 0 } }) => [pid, countFiles(pid)]));

async function judgeLeftovers(
  fleet: FaultFleet,
  loads: Load[],
  filesBefore: Map<number, number>,
): Promise<string[]> {
  const work = { threadIds: loads.flatMap((one) => one.threadIds), sent: loads.flatMap((one) => one.sent) };
  const living = livingWorkers(fleet).map(({ ready }) => ready.workerId);
  const keys = async () => checkKeys(await scanKeys(fleet.redis), living, work);
  await until('Redis has no keys left', async () => (await keys()).length === 0, healLimitMs).catch(
    () => undefined,
  );
  const files = () =>
    [...filesBefore].filter(([pid, before]) => countFiles(pid) > before + fileSlack + work.threadIds.length);
  await until('files are closed', () => files().length === 0, healLimitMs).catch(() => undefined);
  return [
    ...(await keys()),
    ...files().map(
      ([pid, before]) => `D6 gateway ${pid} has ${countFiles(pid)} open files, ${before} at the start`,
    ),
  ];
}

async function judgeProcesses({ family, dir }: FaultFleet): Promise<string[]> {
  const left = () => [...survivorsOf(family), ...processesWith(dir)];
  await until('every process has ended', () => left().length === 0, 2_000).catch(() => undefined);
  return left().map(({ pid, command }) => `D6 process ${pid} was left behind: ${command}`);
}

export async function scanKeys(redis: Redis): Promise<string[]> {
  const found: string[] = [];
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'COUNT', 1000);
    found.push(...keys);
    cursor = next;
  } while (cursor !== '0');
  return found;
}
