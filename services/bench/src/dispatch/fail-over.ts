/**
 * Fail-over: a worker is killed in the middle of a turn; how long until the run begins again on another. With the
 * liveness TTL as given, for nobody can know sooner.
 */
import { startBenchFleet, startModel } from '../fleet.ts';

export const failOverTtlMs = 3_000;

/** Milliseconds from each kill to the run's next attempt. */
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

/** The process that holds the thread: workers tell their process id. */
async function ownerPidOf(fleet: { get<T>(path: string): Promise<T> }, threadId: string): Promise<number> {
  for (let tries = 0; tries < 400; tries++) {
    const { workerId } = await fleet.get<{ workerId: string | null }>(`/v1/threads/${threadId}/session`);
    const { workers } = await fleet.get<{ workers: { workerId: string; pid: number }[] }>('/v1/workers');
    const owner = workers.find((worker) => worker.workerId === workerId);
    if (owner) return owner.pid;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('nobody took the thread');
}
