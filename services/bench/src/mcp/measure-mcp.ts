/**
 * `npm run bench -- mcp`: tools/call and tools/list of the gateway, with key, checks, middleware and
 * validation, compared with a bare Fastify route and the official SDKs. Rounds are shuffled; the main figure
 * is CPU per request, as a ratio within the same round.
 *
 * This folder:
 *   contenders.ts      the servers, each in a process of its own
 *   load.ts            the load, and the figures of it
 *   echo-tools.ts      the echo tools that every server has
 *   echo-plugin-10.ts  ten of them as a plugin
 *   echo-plugin-500.ts 500 of them as a plugin
 *   thread-token.ts    a thread with a token that may call tools
 *   limits.ts          what the limiter costs
 *   traces.ts          what tracing costs
 *   changes.ts         how long a change takes to be visible
 *   peers/             other servers with the same tools
 */
import { type Figure, figureOf, ratioOf, textOf } from '../figures.ts';
import { type ContenderName, contenders, startContender } from './contenders.ts';
import { fire, type LoadFigures, pinTo, warmUpSeconds } from './load.ts';

/** How to measure. */
export interface McpOptions {
  redisUrl: string;
  rounds: number;
  seconds: number;
}

const callsForMemory = 200_000;

interface Load {
  method: 'tools/call' | 'tools/list';
  tools: 10 | 500;
  connections: number;
}
const loads: readonly Load[] = [
  { method: 'tools/call', tools: 10, connections: 1 },
  { method: 'tools/call', tools: 10, connections: 16 },
  { method: 'tools/call', tools: 500, connections: 1 },
  { method: 'tools/call', tools: 500, connections: 16 },
  { method: 'tools/list', tools: 500, connections: 16 },
];

/** Measures and prints the section. */
export async function reportMcp(options: McpOptions): Promise<void> {
  const { rounds, seconds } = options;
  pinTo(1, process.pid);
  console.log(
    `MCP, ${rounds} shuffled rounds of ${seconds} s, the server and the load each on a separate core`,
  );
  for (const load of loads) {
    const { method, tools, connections } = load;
    const measured = await compare({ ...options, ...load });
    console.log(`\n${method}, ${tools} tools, concurrency ${connections}: CPU a request, rate, p99, memory`);
    for (const [name, figures] of measured)
      console.log(lineOf(name, figures, measured.get(routeFor(name, measured)) ?? []));
  }
  await reportMemory(options.redisUrl);
}

/** Prints the memory of a gateway over many calls. */
async function reportMemory(redisUrl: string): Promise<void> {
  const gateway = await startContender('ours 2026', 10, redisUrl);
  try {
    const samples: string[] = [];
    for (let calls = 0; calls < callsForMemory; ) {
      const load = { method: 'tools/call' as const, connections: 16, seconds: 8 };
      const { rssMb, perSecond } = await fire(gateway, load);
      calls += perSecond * load.seconds;
      samples.push(`${rssMb.toFixed(0)} MB after ${Math.round(calls / 1000)}k`);
    }
    console.log(`\nMemory over ${callsForMemory} calls: ${samples.join(', ')}`);
  } finally {
    await gateway.end();
  }
}

/** Contenders that are measured separately and with one load: the number of tools makes no further difference for them. */
const apart = new Set<ContenderName>([
  'fastify route 2026',
  'ours 2025 SSE',
  'ours 2026, thread token',
  'ours 2026, isolated',
]);

async function compare(load: McpOptions & Load) {
  const entrants = contenders.filter(
    (name) =>
      name !== 'ours 2026, no key' &&
      (load.method === 'tools/call' || !name.startsWith('fastify')) &&
      (load.tools === 10 || !apart.has(name)),
  );
  const measured = new Map<ContenderName, LoadFigures[]>(entrants.map((name) => [name, []]));
  for (let round = 0; round < load.rounds; round++) {
    for (const name of shuffled(entrants)) {
      const contender = await startContender(name, load.tools, load.redisUrl);
      try {
        for (const pid of [contender.pid, ...contender.helpers]) pinTo(0, pid);
        await fire(contender, { ...load, seconds: warmUpSeconds });
        measured.get(name)?.push(await fire(contender, load));
      } finally {
        await contender.end();
      }
    }
  }
  return measured;
}

/** The route that gets the same request, if it was measured: one of 2026 is longer. */
const routeFor = (name: ContenderName, measured: ReadonlyMap<ContenderName, unknown>): ContenderName =>
  name.includes('2026') && measured.has('fastify route 2026') ? 'fastify route 2026' : 'fastify route';

function lineOf(name: string, figures: LoadFigures[], route: LoadFigures[]): string {
  const cpuMsOf = (rounds: LoadFigures[]) => rounds.map(({ cpuMs }) => cpuMs);
  const figure = (field: keyof LoadFigures): Figure => figureOf(figures.map((one) => one[field]));
  const ratio =
    route.length > 0 ? `${textOf(ratioOf(cpuMsOf(figures), cpuMsOf(route)), '×')} the route; ` : '';
  const cpu = figure('cpuMs');
  return `  ${name.padEnd(24)} ${cpu.median.toFixed(3)} ms [${cpu.min.toFixed(3)}..${cpu.max.toFixed(3)}], ${ratio}${textOf(figure('perSecond'), '/s')}, p99 ${textOf(figure('p99Ms'), 'ms')}, ${textOf(figure('rssMb'), 'MB')}`;
}

function shuffled<T>(values: readonly T[]): T[] {
  const left = [...values];
  return values.map(() => left.splice(Math.floor(Math.random() * left.length), 1)[0] as T);
}
