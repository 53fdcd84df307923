import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';
import type { Contender } from './contenders.ts';

/** Figures of one load. */
export interface LoadFigures {
  perSecond: number;
  /** User and system CPU time of the server per request, ms. */
  cpuMs: number;
  p50Ms: number;
  p99Ms: number;
  rssMb: number;
}

/** Pins a process to a core, to separate the server from the load; a no-op where that is not possible. */
export function pinTo(core: number, pid: number): void {
  try {
    execFileSync('taskset', ['-a', '-cp', String(core), String(pid)], { stdio: 'ignore' });
  } catch {
    // No taskset, or one core: CPU per request is still meaningful, requests per second less so.
  }
}

/** V8 compiles a server's code for about this long under load, s; a gateway has much more of it than a route. */
export const warmUpSeconds = 4;

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** User and system CPU time of a process, seconds; Linux only. */
export function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** Resident memory of a process, MB; Linux only. */
export const rssMbOf = (pid: number) =>
  Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)?.[1]) / 1024;

/** Sends one kind of request for some time. Throws when a response is not as expected. */
export async function fire(
  contender: Contender,
  load: { method: 'tools/call' | 'tools/list'; connections: number; seconds: number },
): Promise<LoadFigures> {
  const { body, headers } = contender.message(load.method);
  const sample = await fetch(contender.url, {
    method: 'POST',
    headers: { ...contender.headers, ...headers },
    body,
  });
  const text = await sample.text();
  const wanted = load.method === 'tools/call' ? '7: the quick brown fox' : 'echo_9';
  if (!text.includes(wanted))
    throw new Error(`${contender.name} answered ${sample.status} ${text.slice(0, 300)}`);
  const cpuSeconds = () =>
    [contender.pid, ...contender.helpers].reduce((sum, pid) => sum + cpuSecondsOf(pid), 0);
  const before = cpuSeconds();
  const result = await autocannon({
    url: contender.url,
    method: 'POST',
    connections: load.connections,
    duration: load.seconds,
    headers: { ...contender.headers, ...headers },
    body,
  });
  const requests = result['2xx'];
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${contender.name}: ${result.non2xx} refusals, ${result.errors} errors`);
  return {
    perSecond: requests / result.duration,
    cpuMs: (1000 * (cpuSeconds() - before)) / requests,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    rssMb: rssMbOf(contender.pid),
  };
}
