/** The time from sending a message to its first event and to its result, by session path. */
import type { SessionPath } from '@harness/contracts';
import { type BenchFleet, startBenchFleet, startModel } from '../fleet.ts';
import { type BareTurn, measureBareSdk } from './bare-sdk.ts';

const prompt = 'say: hello';

/** Figures of one round. */
export interface PathsRound {
  bare: { cold: BareTurn; warm: BareTurn };
  /** `full`: cold, while every slot has an idle session of another thread. */
  paths: Record<SessionPath | 'full', BareTurn>;
}

/** New threads, one per second, on a worker with HARNESS_SPARES=auto. */
const newThreads = 100;

/** Counts how many of the new threads took a spare. */
export async function countSpared(): Promise<{ threads: number; spared: number }> {
  const model = await startModel();
  const fleet = await startBenchFleet(model.ready.url, 1, { HARNESS_SPARES: 'auto' });
  try {
    await untilSpare(fleet);
    const asked: Promise<boolean>[] = [];
    for (let n = 0; n < newThreads; n++) {
      asked.push(fleet.thread().then(async (id) => (await fleet.ask(id, prompt)).run.path === 'spare'));
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    const spared = (await Promise.all(asked)).filter(Boolean).length;
    return { threads: newThreads, spared };
  } finally {
    await fleet.close();
    await model.end(5_000);
  }
}

/** Measures all session paths and the bare SDK. */
export async function measurePaths(rounds: number): Promise<PathsRound[]> {
  const model = await startModel();
  // At most one session: the second thread evicts the first one's, which is resumed later.
  const plain = await startBenchFleet(model.ready.url, 1, { HARNESS_MAX_SESSIONS: '1', HARNESS_SPARES: '0' });
  const spared = await startBenchFleet(model.ready.url, 1, { HARNESS_SPARES: '1' });
  // Enough slots for one new thread per round.
  const empty = await startBenchFleet(model.ready.url, 1, { HARNESS_MAX_SESSIONS: String(rounds) });
  try {
    const measured: PathsRound[] = [];
    for (let round = 0; round < rounds; round++) {
      const threadId = await plain.thread();
      const cold = await took(empty, await empty.thread(), 'cold');
      await took(plain, threadId, 'cold');
      const warm = await took(plain, threadId, 'warm');
      // The only slot has the idle session of the first thread.
      const full = await took(plain, await plain.thread(), 'cold');
      const resume = await took(plain, threadId, 'resume');
      await untilSpare(spared);
      const spare = await took(spared, await spared.thread(), 'spare');
      measured.push({
        bare: await measureBareSdk({ modelUrl: model.ready.url, mcpUrl: `${empty.url}/mcp` }, prompt),
        paths: { cold, warm, full, resume, spare },
      });
    }
    return measured;
  } finally {
    await Promise.all([plain.close(), spared.close(), empty.close()]);
    await model.end(5_000);
  }
}

async function took(fleet: BenchFleet, threadId: string, path: SessionPath): Promise<BareTurn> {
  const { firstMs, resultMs, run } = await fleet.ask(threadId, prompt);
  if (run.status !== 'success' || run.path !== path)
    throw new Error(`expected ${path}, got ${run.path} (${run.status})`);
  return { firstMs, resultMs };
}

async function untilSpare(fleet: BenchFleet): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const { workers } = await fleet.get<{ workers: { spares: number }[] }>('/v1/workers');
    if ((workers[0]?.spares ?? 0) > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('no spare session was started in time');
}
