/**
 * Fail-over: a worker is killed in the middle of a turn; the time until the run starts again on another. The
 * liveness TTL is the lower bound of detection.
 */
import { startBenchFleet, startModel } from '../fleet.ts';

/** Liveness TTL of the measured workers. */
export const failOverTtlMs = 3_000;

/** Returns the time from each kill to the run's next attempt, ms. */
export async function measureFailOver(kills: number): Promise<number[]> {
  const model = await startModel();
  const fleet = await startBenchFleet(model.ready.url, 6, { HARNESS_WORKER_TTL_MS: String(failOverTtlMs) });
  try {
    const tookMs: number[] = [];
    for (let n = 0; n < kills; n++) {
      const threadId = await fleet.thread();
      const running = fleet.ask(threadId, 'sleep: 1500\nsay: done');
      const pid = await ownerPidOf(fleet, threadId);
      let killedAt = 0;
      for await (const event of fleet.events(`/v1/threads/${threadId}/events?follow=true`)) {
        if (event.type !== 'run.started') continue;
        if (killedAt > 0) {
          tookMs.push(performance.now() - killedAt);
          break;
        }
        killedAt = performance.now();
        process.kill(await pid, 'SIGKILL');
      }
      await running;
    }
    return tookMs;
  } finally {
    await fleet.close();
    await model.end(5_000);
  }
}

/** The pid of the worker that holds the thread. */
async function ownerPidOf(fleet: { get<T>(path: string): Promise<T> }, threadId: string): Promise<number> {
  for (let tries = 0; tries < 400; tries++) {
    const { workerId } = await fleet.get<{ workerId: string | null }>(`/v1/threads/${threadId}/session`);
    const { workers } = await fleet.get<{ workers: { workerId: string; pid: number }[] }>('/v1/workers');
    const owner = workers.find((worker) => worker.workerId === workerId);
    if (owner) return owner.pid;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('no worker took the thread in time');
}
