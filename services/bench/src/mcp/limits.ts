/**
 * `npm run bench -- limits`: what the limiter costs a tools/call, and how long the requests of a quiet tenant take beside
 * a tenant that sends twice as many as it may.
 */
import { hash } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { figureOf, ratioOf, textOf } from '../figures.ts';
import { startGateway } from '../gateway.ts';
import { unreached, writeLimits } from '../limits-file.ts';
import { startContender } from './contenders.ts';
import { fire, pinTo, warmUpSeconds } from './load.ts';
import type { McpOptions } from './measure-mcp.ts';

/** What a key may send by default, a second. */
const allowed = 200;
const quietPerSecond = 50;

/** Measures and prints the section. */
export async function reportLimits(options: McpOptions): Promise<void> {
  pinTo(1, process.pid);
  await reportCost(options);
  await reportQuiet(options);
}

/** A key whose limits are not reached, beside the local caller, whose requests are not limited. */
async function reportCost({ redisUrl, rounds, seconds }: McpOptions): Promise<void> {
  const cpuUs = { limited: [] as number[], unlimited: [] as number[] };
  for (let round = 0; round < rounds; round++)
    for (const name of ['ours 2026', 'ours 2026, no key'] as const) {
      const gateway = await startContender(name, 10, redisUrl);
      try {
        pinTo(0, gateway.pid);
        const load = { method: 'tools/call' as const, connections: 16 };
        await fire(gateway, { ...load, seconds: warmUpSeconds });
        const { cpuMs } = await fire(gateway, { ...load, seconds });
        cpuUs[name === 'ours 2026' ? 'limited' : 'unlimited'].push(1000 * cpuMs);
      } finally {
        await gateway.end();
      }
    }
  const extra = cpuUs.limited.map((us, round) => us - (cpuUs.unlimited[round] ?? Number.NaN));
  console.log(`tools/call, concurrency 16, ${rounds} rounds of ${seconds} s: CPU of the gateway a call`);
  console.log(`  key with limits         ${textOf(figureOf(cpuUs.limited), 'us')}`);
  console.log(`  local caller, no limit  ${textOf(figureOf(cpuUs.unlimited), 'us')}`);
  console.log(`  limiter and key         ${textOf(figureOf(extra), 'us')}`);
}

async function reportQuiet({ redisUrl, rounds, seconds }: McpOptions): Promise<void> {
  const keys = ['quiet', 'noisy'].map((id) => ({
    id,
    keySha256: hash('sha256', `key-of-${id}`),
    tenant: id,
    scopes: ['threads', 'tools'],
  }));
  const file = join(mkdtempSync(join(tmpdir(), 'harness-bench-keys-')), 'keys.json');
  writeFileSync(file, JSON.stringify(keys));
  const gateway = await startGateway(redisUrl, {
    HARNESS_API_KEYS_FILE: file,
    HARNESS_LIMITS_FILE: writeLimits({
      noisy: { ...unreached, requestsPerSecond: allowed, burst: 2 * allowed },
    }),
  });
  try {
    pinTo(0, gateway.process.pid as number);
    const send = (tenant: string, perSecond: number) =>
      autocannon({
        url: `${gateway.ready.url}/v1/tools/time__current_time`,
        method: 'POST',
        headers: { authorization: `Bearer key-of-${tenant}`, 'content-type': 'application/json' },
        body: '{}',
        connections: tenant === 'quiet' ? 2 : 16,
        overallRate: perSecond,
        duration: seconds,
      });
    await send('quiet', quietPerSecond); // warms up
    const [alone, beside, refused]: number[][] = [[], [], []];
    for (let round = 0; round < rounds; round++) {
      alone?.push((await send('quiet', quietPerSecond)).latency.p99);
      const [quiet, noisy] = await Promise.all([send('quiet', quietPerSecond), send('noisy', 2 * allowed)]);
      if (quiet.non2xx > 0) throw new Error(`${quiet.non2xx} requests of the quiet tenant were refused`);
      beside?.push(quiet.latency.p99);
      refused?.push(noisy.non2xx / (noisy.non2xx + noisy['2xx']));
    }
    console.log(`\nA quiet tenant (${quietPerSecond} requests/s): p99, ${rounds} rounds of ${seconds} s`);
    console.log(`  alone                   ${textOf(figureOf(alone ?? []), 'ms')}`);
    console.log(
      `  beside ${2 * allowed} requests/s of a tenant that may send ${allowed}: ${textOf(figureOf(beside ?? []), 'ms')}`,
    );
    console.log(`  ratio                   ${textOf(ratioOf(beside ?? [], alone ?? []), '×')}`);
    console.log(
      `  of the other's requests ${textOf(figureOf((refused ?? []).map((share) => 100 * share)), '%')} refused`,
    );
  } finally {
    await gateway.end(10_000);
  }
}
