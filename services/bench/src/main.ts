/**
 * `npm run bench`: measures each figure in several rounds, next to its peer or the raw limit in the same
 * round. With the name of a section (`npm run bench -- sse`), only that one.
 *
 * This folder:
 *   config.ts      PATH of the processes
 *   fleet.ts       a fleet (`npm start`) under measurement
 *   gateway.ts     a gateway process under measurement
 *   figures.ts     the median and range of several rounds
 *   limits-file.ts limits that no load reaches
 *   drawing/       draws the tables of README.md as SVG
 *   mcp/           calls and lists of tools, limits, traces, changes
 *   plugins/       plugin hosts
 *   upstreams/     calls through upstreams; a start with dead ones
 *   sse/           one thread with many subscribers
 *   dispatch/      mailbox, bus, fail-over, growth
 *   sessions/      cold, resumed and warm sessions
 *   workspaces/    versions of files
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigError, runMain, startEmbeddedRedis } from '@harness/runtime';
// biome-ignore lint/style/noRestrictedImports: a primary and its replica, which only tests and figures start.
import { openRedisGroup } from '../../../libs/runtime/test/redis-group.ts';
import { type AcceptRound, measureAccept } from './dispatch/accept-rate.ts';
import { reportBusPoll } from './dispatch/bus-poll.ts';
import { measureDispatch } from './dispatch/dispatch-overhead.ts';
import { failOverTtlMs, measureFailOver } from './dispatch/fail-over.ts';
import { reportGrowth } from './dispatch/growth.ts';
import { measureThroughput } from './dispatch/throughput.ts';
import { drawRatios, ratiosIn } from './drawing/draw-figures.ts';
import { figureOf, quantile, ratioOf, textOf } from './figures.ts';
import { reportChanges } from './mcp/changes.ts';
import { reportLimits } from './mcp/limits.ts';
import { reportMcp } from './mcp/measure-mcp.ts';
import { reportTraces } from './mcp/traces.ts';
import { reportPluginHost } from './plugins/plugin-host.ts';
import { countSpared, measurePaths } from './sessions/paths.ts';
import { reportSse } from './sse/sse-fan-out.ts';
import { reportUpstreamsStart } from './upstreams/measure-start.ts';
import { reportUpstreams } from './upstreams/measure-upstreams.ts';
import { reportWorkspaces } from './workspaces/workspaces.ts';

const rounds = 5;
const pathRounds = 7;
const kills = 20;
const mcpSeconds = 8;
const upstreamSeconds = 4;
const busPollRounds = 3;
const changeRounds = 3;
const faultyRuns = 10_000;
const soakMain = fileURLToPath(new URL('../../local/test/soak/main.ts', import.meta.url));

/** The sections by name. The last ones pin this process, and what it starts, to one core. */
const sections: Record<string, (redisUrl: string) => Promise<void>> = {
  bus: reportBus,
  'bus-poll': (redisUrl) => reportBusPoll(redisUrl, busPollRounds),
  changes: (redisUrl) => reportChanges(redisUrl, changeRounds),
  accept: reportAccept,
  sse: (redisUrl) => reportSse(redisUrl, rounds),
  paths: reportPaths,
  workspaces: () => reportWorkspaces(rounds),
  throughput: reportThroughput,
  growth: (redisUrl) => reportGrowth(redisUrl, rounds),
  'upstreams-start': (redisUrl) => reportUpstreamsStart(redisUrl, rounds),
  'fail-over': reportFailOver,
  faults: reportFaults,
  'plugin-host': (redisUrl) => reportPluginHost({ redisUrl, rounds, seconds: mcpSeconds }),
  limits: (redisUrl) => reportLimits({ redisUrl, rounds, seconds: mcpSeconds }),
  traces: (redisUrl) => reportTraces({ redisUrl, rounds, seconds: mcpSeconds }),
  upstreams: (redisUrl) => reportUpstreams({ redisUrl, rounds, seconds: upstreamSeconds }),
  mcp: (redisUrl) => reportMcp({ redisUrl, rounds, seconds: mcpSeconds }),
};

const inRoom = (name: string) => new URL(`../${name}`, import.meta.url);

runMain(async () => {
  const wanted = process.argv[2];
  if (wanted === 'draw') {
    writeFileSync(inRoom('figures.svg'), drawRatios(ratiosIn(readFileSync(inRoom('README.md'), 'utf8'))));
    process.exit(0);
  }
  const chosen = wanted === undefined ? Object.values(sections) : [sections[wanted]];
  if (chosen.includes(undefined))
    throw new ConfigError(
      `There is no section "${wanted}". Sections: ${Object.keys(sections).join(', ')}, draw.`,
    );
  const dir = await mkdtemp(join(tmpdir(), 'harness-bench-'));
  const redis = await startEmbeddedRedis(dir);
  console.log(`${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}, appendfsync always`);
  console.log('median [best..worst round]');
  try {
    for (const measure of chosen) {
      console.log('');
      await measure?.(redis.url);
    }
  } finally {
    await redis.close();
    await rm(dir, { recursive: true, force: true });
  }
  process.exit(0);
});

async function reportBus(redisUrl: string): Promise<void> {
  const bus = await inRounds(() => measureDispatch(redisUrl));
  const of = (name: keyof (typeof bus)[number]) => bus.map((round) => round[name]);
  console.log('Dispatch overhead: append -> committed, a turn that takes no time, 3 workers');
  console.log(`  p50                     ${textOf(figureOf(of('oursP50Ms')), 'ms')}`);
  console.log(`  p99                     ${textOf(figureOf(of('oursP99Ms')), 'ms')}`);
  console.log(`  peer BullMQ, p50        ${textOf(figureOf(of('bullP50Ms')), 'ms')}    add -> processed`);
  console.log(`  peer BullMQ, p99        ${textOf(figureOf(of('bullP99Ms')), 'ms')}`);
  console.log(`  ratio to BullMQ, p50    ${textOf(ratioOf(of('oursP50Ms'), of('bullP50Ms')), '×')}`);
  console.log(`  ratio to one PING, p50  ${textOf(ratioOf(of('oursP50Ms'), of('pingP50Ms')), '×')}`);
}

async function reportAccept(redisUrl: string): Promise<void> {
  const group = await openRedisGroup({ sentinels: 0 });
  const acked: AcceptRound[] = [];
  const accept = await inRounds(async () => {
    const round = await measureAccept(redisUrl);
    acked.push(await measureAccept(group.url, 1));
    return round;
  });
  await group.close();
  const at = (name: keyof (typeof accept)[number]) => accept.map((round) => round[name]);
  console.log('Messages accepted by one gateway, 16 connections, durable');
  console.log(`  rate                    ${textOf(figureOf(at('acceptedPerSecond')), '/s')}`);
  console.log(
    `  p50, p99                ${textOf(figureOf(at('p50Ms')), 'ms')}, ${textOf(figureOf(at('p99Ms')), 'ms')}`,
  );
  const withAcks = (name: keyof AcceptRound) => acked.map((round) => round[name]);
  console.log(`  with acks of a replica  ${textOf(figureOf(withAcks('acceptedPerSecond')), '/s')}`);
  console.log(
    `  p50, p99                ${textOf(figureOf(withAcks('p50Ms')), 'ms')}, ${textOf(figureOf(withAcks('p99Ms')), 'ms')}`,
  );
  console.log(`  raw Fastify route       ${textOf(figureOf(at('rawPerSecond')), '/s')}`);
  console.log(
    `  share of the raw limit  ${textOf(ratioOf(at('acceptedPerSecond'), at('rawPerSecond')), '×')}`,
  );
}

async function reportPaths(): Promise<void> {
  const measured = await measurePaths(pathRounds);
  console.log(
    'From a message to its first event, and to its result, by session path (scripted-model responds at once)',
  );
  for (const path of ['warm', 'spare', 'resume', 'cold', 'full'] as const) {
    const peer = path === 'warm' ? 'warm' : 'cold';
    const first = measured.map((round) => round.paths[path].firstMs);
    const result = measured.map((round) => round.paths[path].resultMs);
    const bare = measured.map((round) => round.bare[peer].resultMs);
    console.log(`  ${path.padEnd(7)} ${textOf(figureOf(first), 'ms')}, ${textOf(figureOf(result), 'ms')}`);
    console.log(
      `          ${textOf(ratioOf(result, bare), '×')} of the bare SDK, ${peer}: ${textOf(figureOf(bare), 'ms')}`,
    );
  }
  const resultOf = (path: 'full' | 'cold') => measured.map((round) => round.paths[path].resultMs);
  console.log(
    `  a new thread with a full pool: ${textOf(ratioOf(resultOf('full'), resultOf('cold')), '×')} of one with a free slot`,
  );
  const { threads, spared } = await countSpared();
  console.log(`  of ${threads} new threads, one a second, HARNESS_SPARES=auto: ${spared} took a spare`);
}

async function reportThroughput(): Promise<void> {
  console.log(
    'Turns per second, with a model that takes 2 s per turn, 3 sessions per worker; share of the ideal',
  );
  let one: number | undefined;
  for (const workers of [1, 2, 4]) {
    const { turnsPerSecond, shareOfIdeal, cpuShare, memoryPerSessionBytes } =
      await measureThroughput(workers);
    one ??= turnsPerSecond;
    const linear = (turnsPerSecond / (workers * one)).toFixed(3);
    const memory = `${(memoryPerSessionBytes / 1024 / 1024).toFixed(0)} MiB an idle session`;
    console.log(
      `  ${workers} workers  ${turnsPerSecond.toFixed(2)} /s, ${shareOfIdeal.toFixed(3)}; ${linear} of linear; CPU ${(100 * cpuShare).toFixed(0)} % busy; ${memory}`,
    );
  }
}

async function reportFailOver(): Promise<void> {
  const tookMs = (await measureFailOver(kills)).toSorted((a, b) => a - b);
  console.log(
    `Fail-over: kill -9 in mid-turn -> the run starts on another worker, ${kills} kills, TTL ${failOverTtlMs} ms`,
  );
  console.log(
    `  p50 ${quantile(tookMs, 0.5).toFixed(0)} ms, p95 ${quantile(tookMs, 0.95).toFixed(0)} ms, worst ${tookMs.at(-1)?.toFixed(0)} ms`,
  );
}

/** Runs the soak command, which checks the results itself: see services/local/test/faults. */
async function reportFaults(): Promise<void> {
  console.log(`Lost, doubled and reordered results under a random mix of faults, ${faultyRuns} runs`);
  const soak = spawn(process.execPath, [soakMain, 'faults', '--runs', String(faultyRuns)], {
    stdio: 'inherit',
  });
  const [code] = await once(soak, 'exit');
  if (code !== 0) throw new Error('a promise was broken: see the failed round above');
}

async function inRounds<Round>(measure: () => Promise<Round>): Promise<Round[]> {
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round++) measured.push(await measure());
  return measured;
}
