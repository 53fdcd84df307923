import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Run } from '@harness/contracts';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet, type TestFleet } from '../open-fleet.ts';
import { openRoundRobin } from '../round-robin.ts';

async function openFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'harness-written-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
const write = async (folder: string, path: string, { front, body }: { front: string; body: string }) => {
  await mkdir(join(folder, path, '..'), { recursive: true });
  await writeFile(join(folder, path), `---\n${front}\n---\n${body}\n`);
};
const toolResults = async (fleet: TestFleet, threadId: string) =>
  (await fleet.watch(`/v1/threads/${threadId}/events`, ({ type }) => type === 'stream.replayed')).filter(
    ({ type }) => type === 'agent.tool_result',
  );

test('a warm session sees a skill that was added while it was idle, and may use only the tools of an active skill', async () => {
  const folder = await openFolder();
  const fleet = await openFleet({ workers: 0, env: { HARNESS_SKILLS_DIR: folder } });
  const balancer = await openRoundRobin(() => [fleet.gateway.ready.url]);
  onTestFinished(balancer.close);
  await fleet.addWorker({ HARNESS_GATEWAY_URL: balancer.url });
  /** How often the session has listed its tools. */
  const listed = () => balancer.seen.filter((body) => body.includes('"method":"tools/list"')).length;
  const threadId = await fleet.thread();
  await fleet.ask(threadId, 'say: hello');
  expect(listed()).toBe(1);
  await write(folder, 'tea/SKILL.md', {
    front: 'name: tea\ndescription: Makes tea\nallowed-tools: skill__read_file',
    body: 'Steep it.',
  });
  await expect.poll(listed).toBe(2);
  const run = await fleet.ask(threadId, 'call: skill__tea {}\ncall: time__current_time {}');
  expect(run).toMatchObject({ status: 'success', path: 'warm' });
  expect((await toolResults(fleet, threadId)).map(({ data }) => data.isError)).toEqual([false, true]);
});

test('the run after a restricted one has all tools from its start, whenever it is sent', async () => {
  const folder = await openFolder();
  await write(folder, 'tea/SKILL.md', {
    front: 'name: tea\ndescription: Makes tea\nallowed-tools: skill__read_file',
    body: 'Steep it.',
  });
  const fleet = await openFleet({ env: { HARNESS_SKILLS_DIR: folder } });
  const restricted = 'call: skill__tea {}\ncall: time__current_time {}';
  const free = 'call: time__current_time {}';
  /** Milliseconds between the end of the restricted run and the next message; `queued` = sent while it runs. */
  const tries = ['queued', 0, 20, 50, 100, 200, 350, 500, 700, 1_000] as const;
  const misses: unknown[] = [];
  const tryAll = async (thread: number) => {
    const threadId = await fleet.thread();
    for (const [at, delay] of tries.entries()) {
      if (delay === 'queued') {
        await fleet.send(threadId, restricted);
        await fleet.ask(threadId, free);
      } else {
        await fleet.ask(threadId, restricted);
        await setTimeout(delay + thread); // the gap itself is tested, so the test sleeps
        await fleet.ask(threadId, free);
      }
      const refused = (await toolResults(fleet, threadId)).map(({ data }) => data.isError);
      const expected = Array.from({ length: at + 1 }, () => [false, true, false]).flat();
      if (JSON.stringify(refused) !== JSON.stringify(expected)) misses.push({ thread, delay, refused });
    }
  };
  await Promise.all([0, 1, 2, 3, 4].map(tryAll));
  expect(misses).toEqual([]);
});

test('a key’s tools hold for its run from the first prompt, and for no other run', async () => {
  const folder = await openFolder();
  const file = join(folder, 'keys.json');
  const keyOf = (id: string, more: object) => {
    const keySha256 = createHash('sha256').update(id).digest('hex');
    return { id, keySha256, tenant: 'acme', scopes: ['threads', 'tools', 'tasks'], ...more };
  };
  await writeFile(file, JSON.stringify([keyOf('all', {}), keyOf('few', { tools: ['time__*'] })]));
  const fleet = await openFleet({ env: { HARNESS_API_KEYS_FILE: file } });
  const as = (key: string) => ({ authorization: `Bearer ${key}` });
  const { threadId } = await fleet.post<{ threadId: string }>('/v1/threads', {}, as('all'));
  const input = 'call: time__current_time {}\ncall: delegation__checkin {"message": "x"}';
  const answers = { all: 'no agent to check in with', few: 'No such tool available' };
  for (const key of ['all', 'few', 'few', 'all', 'few', 'all'] as const) {
    const run = await fleet.post<Run>(`/v1/threads/${threadId}/runs/wait`, { input }, as(key));
    expect([key, run.result]).toEqual([key, expect.stringContaining(answers[key])]);
  }
});

test('a session of an agent has only the agent’s tools; a deleted agent is a clear error', async () => {
  const folder = await openFolder();
  await write(folder, 'clerk.md', {
    front: 'name: clerk\ndescription: Tells the time\ntools: time__current_time',
    body: 'You tell the time.',
  });
  const fleet = await openFleet({ env: { HARNESS_AGENTS_DIR: folder } });
  const threadId = await fleet.thread({ agent: 'clerk' });
  await fleet.ask(threadId, 'call: time__current_time {}\ncall: delegation__delegate {"prompt": "x"}');
  expect((await toolResults(fleet, threadId)).map(({ data }) => data.isError)).toEqual([false, true]);
  await rm(join(folder, 'clerk.md'));
  await expect.poll(async () => (await fleet.get<{ agents: unknown[] }>('/v1/agents')).agents).toEqual([]);
  // Redis gets what the gateways have read a moment later.
  await expect
    .poll(() => fleet.ask(threadId, 'say: hello'), { timeout: 20_000 })
    .toMatchObject({ status: 'error', error: { code: 'agent_not_found' } });
});
