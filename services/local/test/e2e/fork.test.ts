import type { Run, Thread } from '@harness/contracts';
import { expect, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';

test('a fork has the conversation and the files as they were, and changes independently', async () => {
  const fleet = await openFleet({ env: { HARNESS_WORKSPACES: 'auto' } });
  const threadId = await fleet.thread({ metadata: { a: 1 } });
  const put = (text: string) =>
    fetch(`${fleet.url}/v1/threads/${threadId}/files/a.txt`, {
      method: 'PUT',
      headers: { 'content-type': 'application/octet-stream' },
      body: text,
    });
  const fileOf = async (thread: string) =>
    (await fetch(`${fleet.url}/v1/threads/${thread}/files/a.txt`)).text();
  const recalled = async (thread: string) => (await fleet.ask(thread, 'recall:')).result;
  const fork = (body: object) => fleet.post<Thread>(`/v1/threads/${threadId}/fork`, body);

  await put('one');
  const first: Run = await fleet.ask(threadId, 'remember: apple');
  await put('two');
  await fleet.ask(threadId, 'remember: pear');
  const early = await fork({ atRunId: first.runId });
  expect(early).toMatchObject({
    metadata: { a: 1 },
    state: 'idle',
    parentThreadId: null,
    files: first.files,
    forkedFrom: { threadId, runId: first.runId },
  });
  const late = await fork({ threadId: 'late' });
  expect(late).toMatchObject({ threadId: 'late', forkedFrom: { threadId, runId: null } });
  expect(await Promise.all([early.threadId, 'late'].map(fileOf))).toEqual(['one', 'two']);

  const run = await fleet.ask(early.threadId, 'remember: plum');
  expect(run.path).toBe('resume');
  expect(await Promise.all([early.threadId, 'late', threadId].map(recalled))).toEqual([
    expect.stringMatching(/apple.*plum/),
    expect.stringMatching(/apple.*pear/),
    expect.stringMatching(/apple.*pear/),
  ]);
  expect(await recalled(early.threadId)).not.toContain('pear');
  // The fork of a fork, after the first one is gone.
  const again = await fleet.post<Thread>(`/v1/threads/${early.threadId}/fork`);
  await fetch(`${fleet.url}/v1/threads/${early.threadId}`, { method: 'DELETE' });
  expect(await recalled(again.threadId)).toMatch(/apple.*plum/);
});
