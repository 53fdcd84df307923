/** Rounds of load with a random mix of faults, each checked as in the tests; FAULT_SEED repeats a round. */
import { setTimeout as after } from 'node:timers/promises';
import { ttlMs } from '../faults/fault-fleet.ts';
import {
  bullCommands,
  callOf,
  cutOff,
  flushScripts,
  killGateway,
  killWorker,
  proxiesOf,
  replaceWorker,
  restartRedis,
  ringRaw,
  slowDown,
  stopRedis,
  stopWorker,
} from '../faults/faults.ts';
import type { Load } from '../faults/load.ts';
import { seedOf } from '../faults/random.ts';
import { type Story, violationsOf } from '../faults/under-faults.ts';
import type { SoakOptions } from './soak-options.ts';

const faults: Record<string, (story: Story, load: Load) => Promise<unknown>> = {
  'kill a worker': (story) => killWorker(story),
  'stop a worker': (story) => stopWorker(story, story.random.between(1, 3 * ttlMs)),
  'replace a worker': replaceWorker,
  'kill a gateway': killGateway,
  'restart Redis': (story) => restartRedis(story, story.random.upTo(2_000)),
  'stop Redis': (story) => stopRedis(story, story.random.between(1, 3 * ttlMs)),
  'reset connections': async (story) => story.random.pick(proxiesOf(story)).reset(),
  'go half-open': async (story) => story.random.pick(proxiesOf(story)).halfOpen(),
  'be far away': (story) => slowDown(story, 300, story.random.upTo(5_000)),
  'cut one off': (story) => cutOff(story.random.pick(proxiesOf(story)), story.random.upTo(2 * ttlMs)),
  'forget scripts': flushScripts,
  'lose answers': (story) => {
    const turn = ['claim', 'begin', 'emit', 'commit', 'release'].map((name) => `lease/${name}`);
    const scripts = ['thread/append', ...turn, 'worker/sweep'].map(callOf);
    const fits = story.random.pick([...scripts, ...Object.values(bullCommands)]);
    return Promise.all(proxiesOf(story).map((proxy) => proxy.dropReplies(fits, 2, 2_000)));
  },
  'ring too often': async (story, load) => {
    for (let i = 0; i < 20; i++) await ringRaw(story, 'assign', story.random.pick(load.threadIds));
  },
};

const faultsPerRound = 6;
const threads = 10;
const messages = 100;

async function playRound(seed: number): Promise<string[]> {
  // Latency can make an allowed effect late by as much as itself.
  return violationsOf({ seed, workers: 3, gateways: 2, slackMs: 1_500 }, async (story) => {
    const load = await story.load({ threads, messages, gapMs: 250 });
    for (let i = 0; i < faultsPerRound; i++) {
      const [name, doHarm] = story.random.pick(Object.entries(faults));
      console.log(`  ${name}`);
      await doHarm(story, load);
      await after(story.random.between(500, 3_000)); // so that the next fault meets a working fleet, or one that still recovers
    }
    await load.accepted;
  });
}

/** Throws at the first round that breaks a promise, with its seed. */
export async function soakWithFaults({ minutes, runs }: SoakOptions): Promise<void> {
  const limitMs = (minutes ?? (runs === undefined ? 30 : Number.POSITIVE_INFINITY)) * 60_000;
  const startedAt = performance.now();
  const isOver = (rounds: number) =>
    performance.now() - startedAt >= limitMs ||
    rounds * threads * messages >= (runs ?? Number.POSITIVE_INFINITY);
  let rounds = 0;
  for (let seed = seedOf(); !isOver(rounds); seed = Math.floor(Math.random() * 2 ** 31)) {
    rounds++;
    const wrong = await playRound(seed);
    if (wrong.length > 0)
      throw new Error(`Round ${rounds} broke what is promised (FAULT_SEED=${seed}):\n${wrong.join('\n')}`);
  }
  console.log(`Rounds: ${rounds}; every promise kept`);
}
