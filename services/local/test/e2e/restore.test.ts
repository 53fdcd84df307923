/** Backup and restore as README.md describes them: a fleet continues with a copy that was made under traffic. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Run, ThreadSession } from '@harness/contracts';
import { connectRedis, createLogger } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet, type TestFleet } from '../open-fleet.ts';

async function tempDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'harness-backup-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** The commands of the README. */
async function backUp(redisUrl: string, redisDir: string, to: string): Promise<void> {
  const redis = connectRedis(redisUrl, { logger: createLogger('test', 'silent'), patience: 'wait' });
  await redis.config('SET', 'auto-aof-rewrite-percentage', '0');
  await expect.poll(() => redis.info('persistence')).toContain('aof_rewrite_in_progress:0');
  await cp(join(redisDir, 'appendonlydir'), to, { recursive: true });
  await redis.config('SET', 'auto-aof-rewrite-percentage', '100');
  redis.disconnect();
}

/** Sends `remember: w1`, `remember: w2`, … until it is stopped, two at a time. */
function startTraffic(fleet: TestFleet, threadId: string) {
  let sent = 0;
  /** By run. */
  const words = new Map<string, string>();
  let stopped = false;
  const traffic = async () => {
    while (!stopped) {
      sent += 1;
      const word = `w${sent}`;
      words.set((await fleet.ask(threadId, `remember: ${word}`)).runId, word);
    }
  };
  const done = Promise.all([traffic(), traffic()]);
  return {
    words,
    stop() {
      stopped = true;
      return done;
    },
  };
}

/** Oldest first. */
async function runsOf(fleet: TestFleet, threadId: string): Promise<Run[]> {
  const { runs } = await fleet.get<{ runs: Run[] }>(`/v1/threads/${threadId}/runs?limit=100`);
  return runs.toReversed();
}
const epochOf = async (fleet: TestFleet, threadId: string) =>
  (await fleet.get<ThreadSession>(`/v1/threads/${threadId}/session`)).epoch;
const identityOf = ({ runId, seq }: Run) => ({ runId, seq });

test('a fleet continues with a copy that was made under traffic: runs, order, conversations, epochs', async () => {
  let sourceDir = '';
  let closeSource = async () => {};
  // In the copy this worker is alive until its liveness expires.
  const source = await openFleet({
    env: { HARNESS_WORKER_TTL_MS: '2000' },
    prepare: async (dir) => {
      sourceDir = dir;
    },
    onEnd(close) {
      closeSource = close;
      onTestFinished(close, 60_000);
    },
  });
  const threadIds = [await source.thread(), await source.thread()];
  const traffic = threadIds.map((threadId) => startTraffic(source, threadId));
  const moreAnswers = (count: number) => {
    const goals = traffic.map(({ words }) => words.size + count);
    return expect
      .poll(() => traffic.every(({ words }, n) => words.size >= (goals[n] ?? 0)), { timeout: 60_000 })
      .toBe(true);
  };
  await moreAnswers(2);
  const before = traffic.map(({ words }) => words.size);
  const copy = await tempDir();
  await backUp(source.redisUrl, sourceDir, copy);
  await moreAnswers(2);
  await Promise.all(traffic.map(({ stop }) => stop()));
  // The source assigns an epoch that the copy does not have: a session with another profile replaces the first.
  const changed = await fetch(`${source.url}/v1/threads/${threadIds[0]}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ systemPrompt: 'Be brief.' }),
  });
  expect(changed.status).toBe(200);
  await source.ask(threadIds[0] ?? '', 'say: under another epoch');
  const sourceRuns = await Promise.all(threadIds.map((threadId) => runsOf(source, threadId)));
  const sourceEpochs = await Promise.all(threadIds.map((threadId) => epochOf(source, threadId)));

  await closeSource();

  const restored = await openFleet({
    prepare: (dir) => cp(copy, join(dir, 'appendonlydir'), { recursive: true }),
  });
  for (const [n, threadId] of threadIds.entries()) {
    // Messages from before the copy are there, in order; those that waited in the copy are answered.
    await expect
      .poll(async () => (await runsOf(restored, threadId)).every(({ status }) => status === 'success'), {
        timeout: 60_000,
      })
      .toBe(true);
    const runs = await runsOf(restored, threadId);
    expect(runs.length).toBeGreaterThanOrEqual(before[n] ?? 0);
    expect(runs.length).toBeLessThan(sourceRuns[n]?.length ?? 0);
    expect(runs.map(identityOf)).toEqual(sourceRuns[n]?.slice(0, runs.length).map(identityOf));

    const next = await restored.ask(threadId, 'recall:');
    expect(next.seq).toBe(runs.length + 1);
    // The model got the conversation in the order of the mailbox.
    expect(next.result?.match(/w\d+/g)).toEqual(runs.map(({ runId }) => traffic[n]?.words.get(runId)));
    expect(await epochOf(restored, threadId)).toBeGreaterThan(sourceEpochs[n] ?? 0);
  }
}, 180_000);
