import { fileURLToPath } from 'node:url';
import type { Run, ThreadSession } from '@harness/contracts';
import { expect, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';

const threads = 50;
const messagesPerThread = 20;
const passersBy = 8;

test('1,000 messages to 50 prewarmed threads on 3 workers all find their session warm, while other threads come and go', {
  timeout: 120_000,
}, async () => {
  const fleet = await openFleet({
    workers: 3,
    env: {
      // Free slots for an uneven distribution: threads that a briefly slow worker does not take go to the others.
      HARNESS_MAX_SESSIONS: '30',
      HARNESS_AGENT_EXECUTABLE: fileURLToPath(new URL('../faults/fake-agent.mjs', import.meta.url)),
    },
  });
  const open = () => Promise.all(Array.from({ length: threads }, () => fleet.thread()));
  const threadIds = await open();
  await Promise.all(threadIds.map((threadId) => fleet.post(`/v1/threads/${threadId}/prewarm`)));
  for (const threadId of threadIds) {
    const state = async () => (await fleet.get<ThreadSession>(`/v1/threads/${threadId}/session`)).state;
    await expect.poll(state, { timeout: 60_000 }).toBe('warm');
  }
  const talk = async (threadId: string) => {
    const runs: Run[] = [];
    for (let n = 0; n < messagesPerThread; n++) runs.push(await fleet.ask(threadId, `say: ${n}`));
    return runs;
  };
  const comeAndGo = async () => {
    for (let n = 0; n < passersBy; n++) await fleet.ask(await fleet.thread(), 'say: passing by');
  };
  const [runs] = await Promise.all([Promise.all(threadIds.map(talk)), comeAndGo()]);
  const paths = runs.flat().map((run) => run.path);
  expect(paths).toHaveLength(threads * messagesPerThread);
  expect(paths.filter((path) => path !== 'warm')).toEqual([]);
  expect(runs.every((own) => own.every((run, n) => run.result === String(n)))).toBe(true);
});
