/**
 * `npm run bench -- changes`: how long a change takes to be visible at every gateway. An edit of a skill:
 * from the write to the new list at two gateways that watch the folder (they wait until it is quiet). A
 * plugin disabled or enabled at one gateway: from the request to the new list at both, compared with PUBLISH
 * -> message on the same Redis.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { connectRedis, createLogger } from '@harness/runtime';
import { figureOf, quantile, ratioOf, textOf } from '../figures.ts';
import { type GatewayProcess, startGateway } from '../gateway.ts';

const changesEach = 20;
const warmUp = 2;
const lookMs = 2;
/** Longer than a watcher's wait for quiet, so that edits are not merged. */
const restMs = 400;

interface Round {
  editP50Ms: number;
  editMaxMs: number;
  switchP50Ms: number;
  switchMaxMs: number;
  publishP50Ms: number;
}

/** Measures and prints the section. */
export async function reportChanges(redisUrl: string, rounds: number): Promise<void> {
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round++) measured.push(await measure(redisUrl));
  const of = (field: keyof Round) => measured.map((one) => one[field]);
  const both = (p50: keyof Round, max: keyof Round) =>
    `${textOf(figureOf(of(p50)), 'ms')}, ${textOf(figureOf(of(max)), 'ms')}`;
  console.log(`Changes seen at two gateways, ${changesEach} of each; p50, slowest`);
  console.log(`  edit of a skill         ${both('editP50Ms', 'editMaxMs')}`);
  console.log(`  a plugin on or off      ${both('switchP50Ms', 'switchMaxMs')}`);
  console.log(`  peer PUBLISH -> message ${textOf(figureOf(of('publishP50Ms')), 'ms')}    p50`);
  console.log(`  ratio of on or off      ${textOf(ratioOf(of('switchP50Ms'), of('publishP50Ms')), '×')}`);
}

async function measure(redisUrl: string): Promise<Round> {
  const folder = await mkdtemp(join(tmpdir(), 'harness-bench-'));
  await writeSkill(folder, 'first');
  const settings = { HARNESS_SKILLS_DIR: folder };
  const gateways = await Promise.all([startGateway(redisUrl, settings), startGateway(redisUrl, settings)]);
  try {
    const edits = await timesOf(async (n) => {
      await wait(restMs);
      const startedAt = performance.now();
      await writeSkill(folder, `edit ${n}`);
      await untilAll(gateways, 'skill__probe', (description) => description === `Skill: edit ${n}`);
      return performance.now() - startedAt;
    });
    const [here] = gateways as [GatewayProcess, GatewayProcess];
    const switches = await timesOf(async (n) => {
      const startedAt = performance.now();
      await setPlugin(here, n % 2 === 1);
      await untilAll(
        gateways,
        'time__current_time',
        (description) => (description !== undefined) === (n % 2 === 1),
      );
      return performance.now() - startedAt;
    });
    await setPlugin(here, true); // the state persists in Redis
    return {
      editP50Ms: quantile(edits, 0.5),
      editMaxMs: quantile(edits, 1),
      switchP50Ms: quantile(switches, 0.5),
      switchMaxMs: quantile(switches, 1),
      publishP50Ms: quantile(await publishesOf(redisUrl), 0.5),
    };
  } finally {
    await Promise.all(gateways.map((gateway) => gateway.end(20_000)));
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeSkill(folder: string, description: string): Promise<void> {
  await mkdir(join(folder, 'probe'), { recursive: true });
  const text = `---\nname: probe\ndescription: ${description}\n---\nDo it.\n`;
  await writeFile(join(folder, 'probe', 'SKILL.md'), text);
}

/** Times of the changes after the warm-up, ms, ascending. */
async function timesOf(change: (n: number) => Promise<number>): Promise<number[]> {
  const tookMs: number[] = [];
  for (let n = 0; n < warmUp + changesEach; n++) tookMs.push(await change(n));
  return tookMs.slice(warmUp).toSorted((a, b) => a - b);
}

/**
 * Resolves when the condition holds for the tool's description at every gateway; undefined = there is no such
 * tool.
 */
async function untilAll(
  gateways: GatewayProcess[],
  tool: string,
  isSo: (description: string | undefined) => boolean,
): Promise<void> {
  for (const { ready } of gateways) {
    for (;;) {
      const response = await fetch(`${ready.url}/v1/tools/${tool}`);
      const { description } = (await response.json()) as { description?: string };
      if (isSo(description)) break;
      await wait(lookMs);
    }
  }
}

async function setPlugin({ ready }: GatewayProcess, enabled: boolean): Promise<void> {
  const response = await fetch(`${ready.url}/v1/plugins/time`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ enabled }),
  });
  if (!response.ok) throw new Error(`PATCH: ${response.status} ${await response.text()}`);
}

async function publishesOf(redisUrl: string): Promise<number[]> {
  const logger = createLogger('bench', 'silent');
  const connect = () => connectRedis(redisUrl, { logger, patience: 'wait' });
  const [sender, receiver] = [connect(), connect()];
  const channel = randomUUID();
  let heard = () => {};
  receiver.on('message', () => heard());
  await receiver.subscribe(channel);
  const tookMs = await timesOf(async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    heard = resolve;
    const startedAt = performance.now();
    await sender.publish(channel, 'x');
    await promise;
    return performance.now() - startedAt;
  });
  for (const redis of [sender, receiver]) redis.disconnect();
  return tookMs;
}
