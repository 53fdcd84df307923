/**
 * `npm run bench -- plugin-host`: the cost of calls to an isolated plugin (in a separate process), compared
 * with the same plugin in the gateway's process; and how long other requests wait while a plugin spins.
 */
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Figure, figureOf, ratioOf, textOf } from '../figures.ts';
import { startGateway } from '../gateway.ts';
import { type ContenderName, startContender } from '../mcp/contenders.ts';
import { fire, type LoadFigures, pinTo, warmUpSeconds } from '../mcp/load.ts';

const asks = 200;
const spinMs = 12_000;
const names = ['ours 2026', 'ours 2026, isolated'] as const satisfies ContenderName[];
const spinningPlugin = fileURLToPath(new URL('spinning-plugin.ts', import.meta.url));

/** Measures and prints the section. */
export async function reportPluginHost(options: {
  redisUrl: string;
  rounds: number;
  seconds: number;
}): Promise<void> {
  console.log(
    'An isolated plugin, compared with the same plugin in the gateway process: tools/call of MCP 2026',
  );
  for (const connections of [1, 16]) {
    const [inside = [], isolated = []] = await measureCalls({ ...options, connections });
    const more = figureOf(isolated.map(({ cpuMs }, round) => cpuMs - (inside[round]?.cpuMs ?? Number.NaN)));
    const of = (rounds: LoadFigures[], name: 'cpuMs' | 'p50Ms' | 'p99Ms') =>
      rounds.map((round) => round[name]);
    console.log(`  concurrency ${connections}`);
    console.log(`    CPU per call, both processes +${milliseconds(more)}`);
    console.log(
      `    ratio                        ${textOf(ratioOf(of(isolated, 'cpuMs'), of(inside, 'cpuMs')), '×')}`,
    );
    console.log(
      `    p99                          ${textOf(figureOf(of(isolated, 'p99Ms')), 'ms')}, inside ${textOf(figureOf(of(inside, 'p99Ms')), 'ms')}`,
    );
  }
  const waits: { quiet: number; beside: number }[] = [];
  for (let round = 0; round < options.rounds; round++) waits.push(await measureBeside(options.redisUrl));
  console.log(`  slowest of ${asks} responses of /healthz and of another tool`);
  console.log(
    `    while a plugin spins         ${textOf(figureOf(waits.map(({ beside }) => beside)), 'ms')}`,
  );
  console.log(`    while it is idle             ${textOf(figureOf(waits.map(({ quiet }) => quiet)), 'ms')}`);
}

const milliseconds = ({ median, min, max }: Figure) =>
  `${median.toFixed(3)} ms [${min.toFixed(3)}..${max.toFixed(3)}]`;

async function measureCalls({
  redisUrl,
  rounds,
  seconds,
  connections,
}: {
  redisUrl: string;
  rounds: number;
  seconds: number;
  connections: number;
}): Promise<LoadFigures[][]> {
  const measured: LoadFigures[][] = names.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [i, name] of names.entries()) {
      const contender = await startContender(name, 10, redisUrl);
      try {
        for (const pid of [contender.pid, ...contender.helpers]) pinTo(0, pid);
        await fire(contender, { method: 'tools/call', connections, seconds: warmUpSeconds });
        measured[i]?.push(await fire(contender, { method: 'tools/call', connections, seconds }));
      } finally {
        await contender.end();
      }
    }
  }
  return measured;
}

async function measureBeside(redisUrl: string): Promise<{ quiet: number; beside: number }> {
  const gateway = await startGateway(redisUrl, { HARNESS_PLUGINS: spinningPlugin });
  const { url } = gateway.ready;
  const call = (tool: string, input: object) =>
    fetch(`${url}/v1/tools/${tool}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ arguments: input }),
    }).then((response) => response.text());
  const worst = async () => {
    let ms = 0;
    for (let i = 0; i < asks; i++) {
      const startedAt = performance.now();
      await Promise.all([
        fetch(`${url}/healthz`).then((response) => response.text()),
        call('time__current_time', {}),
      ]);
      ms = Math.max(ms, performance.now() - startedAt);
      await after(20);
    }
    return ms;
  };
  try {
    await worst(); // warms up
    const quiet = await worst();
    // One per core of a small machine.
    const spinning = [1, 2].map(() => call('spinning__spin', { ms: spinMs }));
    await after(100);
    const beside = await worst();
    await Promise.all(spinning);
    return { quiet, beside };
  } finally {
    await gateway.end(10_000);
  }
}
