/** A fleet whose Redis fails over repeatedly, each time to a replica that lags. */
import { mkdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Run } from '@harness/contracts';
// biome-ignore lint/style/noRestrictedImports: only tests start Redis this way.
import { openRedisGroup } from '../../../../libs/runtime/test/redis-group.ts';
import { startFleet } from '../../src/fleet.ts';
import {
  checkEffects,
  checkOverlap,
  checkRefusals,
  checkResults,
  gatherFacts,
  isSettled,
} from './checker/checker.ts';
import { type Client, createClient } from './client.ts';
import { openEffects } from './effects.ts';
import { type Load, startLoad } from './load.ts';
import { createRandom, seedOf } from './random.ts';
import { until } from './until.ts';

export interface FailOverReport {
  /** Messages that were accepted, as callers know. */
  accepted: number;
  /** Of these, lost messages, and their number in the gateway's metric. */
  lost: number;
  reported: number;
  /** Descriptions of broken promises; without acks, lost messages are not among them. */
  wrong: string[];
  /** From the kill of the primary until a message was accepted again, ms, one for each fail-over. */
  acceptMs: number[];
  /** Times that the fleet detected another Redis. */
  changes: number;
}

const inThisFolder = (name: string) => fileURLToPath(new URL(name, import.meta.url));
/** Under load, before and while the replica lags, ms. */
const calmMs = 400;
const lagMs = 250;
/** D5, and the time that sentinels take. */
const settleLimitMs = 40_000;
const slackMs = 250;

/** `acks`: of replicas, here 0 or 1. */
export async function failOverRedis(options: { times: number; acks: number }): Promise<FailOverReport> {
  const random = createRandom(seedOf());
  const dir = await mkdtemp(join(tmpdir(), 'harness-fail-over-'));
  const [tmp, state] = [join(dir, 'tmp'), join(dir, 'state')];
  for (const folder of [tmp, state]) mkdirSync(folder);
  const effects = openEffects(join(dir, 'effects'));
  const group = await openRedisGroup();
  const closing: (() => Promise<unknown>)[] = [() => rm(dir, { recursive: true, force: true }), group.close];
  try {
    const fleet = await startFleet({
      redisDir: dir,
      redisUrl: group.url,
      port: 0,
      workers: 2,
      scripted: false,
      visible: process.env.FAULTS_VISIBLE === '1',
      env: {
        PATH: process.env.PATH ?? '',
        TMPDIR: tmp,
        LOG_LEVEL: 'warn',
        HARNESS_SPARES: '0',
        HARNESS_REDIS_ACKS: String(options.acks),
        HARNESS_PLUGINS: inThisFolder('effects-plugin.ts'),
        FAULTS_LEDGER: effects.path,
        HARNESS_AGENT_EXECUTABLE: inThisFolder('fake-agent.mjs'),
        ANTHROPIC_FAKE_STATE: state,
      },
    });
    closing.push(fleet.close);
    const client = createClient(() => [fleet.url]);
    const loads: Load[] = [];
    const acceptMs: number[] = [];

    for (let n = 0; n < options.times; n++) {
      const work = { client, gateways: () => [fleet.url], random };
      const load = await startLoad({ threads: 4, messages: 12, turnMs: 50, gapMs: 200 }, work);
      loads.push(load);
      closing.push(() => Promise.all(load.readers.map((reader) => reader.close())));
      await until('turns are under way', () => load.sent.length > 4);
      await after(calmMs);
      await group.lag();
      await after(lagMs);
      let accepting: Promise<number> | undefined;
      await group.failOver(() => {
        accepting = acceptedAgain(client, n);
      });
      // With acks nothing is accepted until there is a replica again: the supervisor of Redis starts one immediately.
      await group.comeBack();
      acceptMs.push((await accepting) ?? Number.NaN);
      await load.accepted;
    }

    const settled = async () => {
      for (const load of loads) if (!(await isSettled(client, load))) return false;
      return true;
    };
    await until('all that is there has its result', settled, settleLimitMs).catch(() => undefined);
    const wrong = [...checkRefusals(client)];
    let lost = 0;
    for (const load of loads) {
      for (const facts of await gatherFacts(client, load, effects.read())) {
        const gone = facts.sent.filter(({ runId }) => !facts.runs.some((run) => run.runId === runId));
        lost += gone.length;
        wrong.push(...doubled(facts.runs), ...checkOverlap(facts, { slackMs }), ...checkEffects(facts));
        if (options.acks > 0) wrong.push(...checkResults(facts));
      }
    }
    const metric = await metricsOf(fleet.url);
    return {
      accepted: loads.reduce((sum, { sent }) => sum + sent.length, 0),
      lost,
      reported: metric('harness_mail_lost_total'),
      changes: metric('harness_redis_changes_total'),
      wrong,
      acceptMs,
    };
  } finally {
    for (const close of closing.toReversed()) await close();
  }
}

/** A new thread and its message, repeated by their keys until they are accepted; ms. */
async function acceptedAgain(client: Client, n: number): Promise<number> {
  const startedAt = performance.now();
  await client.call('POST', '/v1/threads', { body: { threadId: `probe-${n}`, ifExists: 'doNothing' } });
  await client.send(`probe-${n}`, 'say: 1', `probe-${n}`);
  return Math.round(performance.now() - startedAt);
}

/** D1: message n has the result n, from one run. */
function doubled(runs: Run[]): string[] {
  const answers = runs.flatMap(({ result }) => (/^\d+$/.test(result ?? '') ? [result] : []));
  return answers.length === new Set(answers).size ? [] : [`D1 messages were doubled: ${answers.join(' ')}`];
}

async function metricsOf(url: string) {
  const text = await (await fetch(`${url}/metrics`)).text();
  return (name: string) => Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN);
}
