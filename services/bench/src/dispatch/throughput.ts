/**
 * Turns per second of 1, 2 and 4 workers with a model that takes two seconds per turn: whether throughput
 * scales linearly while the CPU is not the limit. And the memory of an idle session, from the machine's
 * available memory before and after.
 */
import { readFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { setTimeout as after } from 'node:timers/promises';
import { type BenchFleet, startBenchFleet, startModel } from '../fleet.ts';

const turnMs = 2_000;
const sessionsPerWorker = 3;
const turnsPerThread = 10;

/** Figures for one number of workers. */
export interface Throughput {
  workers: number;
  turnsPerSecond: number;
  /** Share of the throughput if each turn took exactly two seconds. */
  shareOfIdeal: number;
  /** Share of all cores that was busy while the turns ran. */
  cpuShare: number;
  memoryPerSessionBytes: number;
}

/** Measures one number of workers. */
export async function measureThroughput(workers: number): Promise<Throughput> {
  const model = await startModel();
  const fleet = await startBenchFleet(model.ready.url, workers, {
    HARNESS_MAX_SESSIONS: String(sessionsPerWorker),
  });
  try {
    const count = workers * sessionsPerWorker;
    const threads = await Promise.all(Array.from({ length: count }, () => fleet.thread()));
    const freeBefore = await availableBytes();
    await Promise.all(threads.map((threadId) => fleet.ask(threadId, 'say: warm')));
    const freeAfter = await availableBytes();
    const cpuBefore = cpuTimes();
    // Starts spread over a turn's length: otherwise all turns would need the CPU at the same moments.
    const rates = await Promise.all(
      threads.map(async (threadId, i) => {
        await after((i * turnMs) / count);
        return takeTurns(fleet, threadId);
      }),
    );
    const cpuAfter = cpuTimes();
    const turnsPerSecond = rates.reduce((sum, rate) => sum + rate, 0);
    return {
      workers,
      turnsPerSecond,
      cpuShare: 1 - (cpuAfter.idle - cpuBefore.idle) / (cpuAfter.all - cpuBefore.all),
      shareOfIdeal: turnsPerSecond / (count / (turnMs / 1000)),
      memoryPerSessionBytes: (freeBefore - freeAfter) / count,
    };
  } finally {
    await fleet.close();
    await model.end(5_000);
  }
}

/** Runs the turns of one thread; returns turns per second. */
async function takeTurns(fleet: BenchFleet, threadId: string): Promise<number> {
  const startedAt = performance.now();
  for (let turn = 0; turn < turnsPerThread; turn++) {
    const { run } = await fleet.ask(threadId, `sleep: ${turnMs}\nsay: done`);
    if (run.status !== 'success' || run.path !== 'warm')
      throw new Error(`turn ended as ${run.status}, ${run.path}`);
  }
  return turnsPerThread / ((performance.now() - startedAt) / 1000);
}

/** CPU times of all cores since boot, ms. */
function cpuTimes(): { idle: number; all: number } {
  const times = { idle: 0, all: 0 };
  for (const cpu of cpus()) {
    times.idle += cpu.times.idle;
    times.all += Object.values(cpu.times).reduce((sum, ms) => sum + ms, 0);
  }
  return times;
}

/** Linux only; NaN elsewhere. */
async function availableBytes(): Promise<number> {
  const text = await readFile('/proc/meminfo', 'utf8').catch(() => '');
  return Number(text.match(/MemAvailable:\s+(\d+) kB/)?.[1]) * 1024;
}
