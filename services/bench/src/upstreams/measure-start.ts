/**
 * `npm run bench -- upstreams-start`: the start of a gateway with 20 upstreams of which 5 are dead, each in a way of its own, beside
 * the start of the same gateway without any.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { figureOf, ratioOf, textOf } from '../figures.ts';
import { startGateway } from '../gateway.ts';
import { echoCommand, startEcho, writeUpstreams } from './proxies.ts';

const [httpServers, childServers] = [10, 5];
/** Longest wait for the live upstreams, ms. */
const limitMs = 60_000;

/** Measures and prints the section. */
export async function reportUpstreamsStart(redisUrl: string, rounds: number): Promise<void> {
  const echo = await startEcho('http');
  // Takes connections and never answers.
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const upstreams = upstreamsOf(echo.url, `http://127.0.0.1:${port}/mcp`);
  const [none, all, ready]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < rounds; round++) {
    none.push((await startWith(redisUrl, {}, 0)).startMs);
    const measured = await startWith(redisUrl, upstreams, httpServers + childServers);
    all.push(measured.startMs);
    ready.push(measured.readyMs);
  }
  silent.close();
  await echo.end();
  console.log(`Start of a gateway with 20 upstreams, 5 of them dead; ${rounds} rounds`);
  console.log(`  until it listens        ${textOf(figureOf(all), 'ms')}`);
  console.log(
    `  the same without any    ${textOf(figureOf(none), 'ms')}; ${textOf(ratioOf(all, none), '×')}`,
  );
  console.log(`  until 15 are connected  ${textOf(figureOf(ready), 'ms')}`);
}

/** Ten servers of HTTP and five child processes that live, and five that do not. */
function upstreamsOf(echoUrl: string, silentUrl: string): Record<string, object> {
  const [command, ...args] = echoCommand;
  const many = (count: number, name: string, entry: object) =>
    Array.from({ length: count }, (_, n) => [`${name}-${n}`, entry] as const);
  return Object.fromEntries([
    ...many(httpServers, 'http', { type: 'http', url: echoUrl }),
    ...many(childServers, 'child', { command, args }),
    ['dead-refuses', { type: 'http', url: 'http://127.0.0.1:1/mcp' }],
    ['dead-silent', { type: 'http', url: silentUrl }],
    ['dead-command', { command: '/nowhere/server' }],
    ['dead-ends', { command: 'false' }],
    ['dead-says-nothing', { command: 'sleep', args: ['600'] }],
  ]);
}

async function startWith(redisUrl: string, upstreams: Record<string, object>, live: number) {
  const startedAt = performance.now();
  const gateway = await startGateway(redisUrl, { HARNESS_UPSTREAMS_FILE: writeUpstreams(upstreams) });
  const startMs = performance.now() - startedAt;
  const connected = async () => {
    const response = await fetch(`${gateway.ready.url}/v1/upstreams`);
    const { upstreams } = (await response.json()) as { upstreams: { state: string }[] };
    return upstreams.filter(({ state }) => state === 'ready').length;
  };
  while ((await connected()) < live) {
    if (performance.now() - startedAt > limitMs)
      throw new Error('the live upstreams were not connected in time');
    await wait(20);
  }
  const readyMs = performance.now() - startedAt;
  await gateway.end(20_000);
  return { startMs, readyMs };
}
