/**
 * `npm run bench -- upstreams`: a tools/call through this gateway to a server behind it, over HTTP (responses as JSON, and as a
 * stream each) and stdio, compared with other proxies before the same server and with the server itself. The gateway has key,
 * checks, audit, breaker and limits; the proxies have none.
 * Figures: CPU of the proxy alone a call (the server behind it is another process), and the time of a call at one connection.
 *
 * This folder:
 *   measure-start.ts the start of a gateway with dead upstreams
 *   proxies.ts       how the proxies are started
 *   peers/           other proxies, and the server behind all of them
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { createInterface } from 'node:readline';
import { figureOf, quantile, ratioOf, textOf } from '../figures.ts';
import type { Contender } from '../mcp/contenders.ts';
import { fire, pinTo, warmUpSeconds } from '../mcp/load.ts';
import type { McpOptions } from '../mcp/measure-mcp.ts';
import { echoCommand, startEcho, startMcpProxy, startOurs, startSupergateway, type Wire } from './proxies.ts';

const connections = 16;
const warmUpCalls = 500;
const timedCalls = 2_000;

/** One round of one contender. */
interface Round {
  /** CPU of the proxy a call, ms. */
  cpuMs: number;
  p50Ms: number;
  perSecond: number;
}

/** Measures and prints the section. */
export async function reportUpstreams(options: McpOptions): Promise<void> {
  pinTo(1, process.pid);
  const { rounds, seconds } = options;
  console.log(
    `tools/call through a proxy, ${rounds} rounds of ${seconds} s; the proxy has a core of its own`,
  );
  for (const wire of ['http', 'sse', 'stdio'] as const) {
    const direct: number[] = [];
    const measured = new Map<string, Round[]>();
    for (let round = 0; round < rounds; round++) await measureRound({ ...options, wire, direct, measured });
    console.log(`\n${wire}; the server itself, p50 at one connection: ${textOf(figureOf(direct), 'ms')}`);
    const ours = measured.get('ours') ?? [];
    for (const [name, list] of measured) {
      const of = (field: keyof Round) => list.map((one) => one[field]);
      const more = of('p50Ms').map((ms, round) => ms - (direct[round] ?? Number.NaN));
      const ratio = ratioOf(
        ours.map(({ cpuMs }) => cpuMs),
        of('cpuMs'),
      );
      const peer = name === 'ours' ? '' : `; ours ${textOf(ratio, '× its CPU')}`;
      console.log(
        `  ${name.padEnd(14)} CPU ${textOf(figureOf(of('cpuMs')), 'ms')}, p50 ${textOf(figureOf(of('p50Ms')), 'ms')}, direct + ${textOf(figureOf(more), 'ms')}, ${textOf(figureOf(of('perSecond')), '/s')}${peer}`,
      );
    }
  }
}

async function measureRound({
  redisUrl,
  seconds,
  wire,
  direct,
  measured,
}: McpOptions & { wire: Wire; direct: number[]; measured: Map<string, Round[]> }): Promise<void> {
  const echo = await startEcho(wire);
  const place = { redisUrl, echoUrl: echo.url };
  const starts = [
    () => startOurs(wire, place),
    () => startMcpProxy(wire, place),
    ...(wire === 'stdio' ? [startSupergateway] : []),
  ];
  try {
    direct.push(await p50Of(wire === 'stdio' ? stdioCaller() : httpCaller(echo)));
    for (const start of starts) {
      const contender = await start();
      if (!contender) continue;
      try {
        pinTo(0, contender.pid);
        await fire(contender, { method: 'tools/call', connections, seconds: warmUpSeconds });
        const { cpuMs, perSecond } = await fire(contender, { method: 'tools/call', connections, seconds });
        const p50Ms = await p50Of(httpCaller(contender));
        const known = measured.get(contender.name) ?? [];
        measured.set(contender.name, [...known, { cpuMs, p50Ms, perSecond }]);
      } finally {
        await contender.end();
      }
    }
  } finally {
    await echo.end();
  }
}

/** One caller, which waits for each result. */
interface Caller {
  call(): Promise<void>;
  end(): void;
}

async function p50Of(caller: Caller): Promise<number> {
  for (let n = 0; n < warmUpCalls; n++) await caller.call();
  const tookMs: number[] = [];
  for (let n = 0; n < timedCalls; n++) {
    const begunAt = performance.now();
    await caller.call();
    tookMs.push(performance.now() - begunAt);
  }
  caller.end();
  return quantile(
    tookMs.toSorted((a, b) => a - b),
    0.5,
  );
}

function httpCaller(contender: Contender): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { body, headers } = contender.message('tools/call');
  const options = {
    agent,
    method: 'POST',
    headers: { ...contender.headers, ...headers, 'content-length': Buffer.byteLength(body) },
  };
  return {
    async call() {
      const asked = request(contender.url, options).end(body);
      const [response] = await once(asked, 'response');
      response.resume();
      await once(response, 'end');
    },
    end: () => agent.destroy(),
  };
}

function stdioCaller(): Caller {
  const [command, ...args] = echoCommand;
  const child: ChildProcess = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const params = { name: 'echo_5', arguments: { text: 'the quick brown fox', n: 7 } };
  const line = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })}\n`;
  return {
    async call() {
      child.stdin?.write(line);
      await once(lines, 'line');
    },
    end: () => void child.stdin?.end(),
  };
}
