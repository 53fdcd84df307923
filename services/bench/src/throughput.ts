/**
 * Turns per second by 1, 2 and 4 workers, against a model that takes two seconds a turn: whether workers add up while
 * the CPU is not the limit. And the memory of an idle session, from what the machine has left before and after.
 */
import { readFile } from 'node:fs/promises';
import { type BenchFleet, startBenchFleet, startModel } from './fleet.ts';

const turnMs = 2_000;
const sessionsPerWorker = 3;
const turnsPerThread = 5;

export interface Throughput {
  workers: number;
  turnsPerSecond: number;
  /** Of what so many sessions could do if a turn took its two seconds and nothing else. */
  shareOfIdeal: number;
  memoryPerSessionBytes: number;
}

export async function measureThroughput(workers: number): Promise<Throughput> {
  const model = await startModel();
  const fleet = await startBenchFleet(model.ready.url, workers, {
    HARNESS_MAX_SESSIONS: String(sessionsPerWorker),
  });
  try {
    const count = workers * sessionsPerWorker;
    const threads = await Promise.all(Array.from({ length: count }, () => fleet.thread()));
    const before = await availableBytes();
    await Promise.all(threads.map((threadId) => fleet.ask(threadId, 'say: warm')));
    const after = await availableBytes();
    const startedAt = performance.now();
    await Promise.all(threads.map((threadId) => takeTurns(fleet, threadId)));
    const seconds = (performance.now() - startedAt) / 1000;
    const turnsPerSecond = (count * turnsPerThread) / seconds;
    return {
      workers,
      turnsPerSecond,
      shareOfIdeal: turnsPerSecond / (count / (turnMs / 1000)),
      memoryPerSessionBytes: (before - after) / count,
    };
  } finally {
    await fleet.close();
    await model.end(5_000);
  }
}

async function takeTurns(fleet: BenchFleet, threadId: string): Promise<void> {
  for (let turn = 0; turn < turnsPerThread; turn++) {
    const { run } = await fleet.ask(threadId, `sleep: ${turnMs}\nsay: done`);
    if (run.status !== 'success' || run.path !== 'warm')
      throw new Error(`turn ended as ${run.status}, ${run.path}`);
  }
}

/** Linux only; elsewhere the figure is left out (NaN). */
async function availableBytes(): Promise<number> {
  const text = await readFile('/proc/meminfo', 'utf8').catch(() => '');
  return Number(text.match(/MemAvailable:\s+(\d+) kB/)?.[1]) * 1024;
}
