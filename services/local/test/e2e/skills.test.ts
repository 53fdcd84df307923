import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet, type TestFleet } from '../open-fleet.ts';
import { openRoundRobin } from '../round-robin.ts';

async function openFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'harness-written-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
const write = async (folder: string, path: string, front: string, body: string) => {
  await mkdir(join(folder, path, '..'), { recursive: true });
  await writeFile(join(folder, path), `---\n${front}\n---\n${body}\n`);
};
const toolResults = async (fleet: TestFleet, threadId: string) =>
  (await fleet.watch(`/v1/threads/${threadId}/events`, ({ type }) => type === 'stream.replayed')).filter(
    ({ type }) => type === 'agent.tool_result',
  );

test('a warm session sees a skill that came while it slept, and is held to what the skill allows', async () => {
  const folder = await openFolder();
  const fleet = await openFleet({ workers: 0, env: { HARNESS_SKILLS_DIR: folder } });
  const balancer = await openRoundRobin(() => [fleet.gateway.ready.url]);
  onTestFinished(balancer.close);
  await fleet.addWorker({ HARNESS_GATEWAY_URL: balancer.url });
  /** How often the session has asked for its tools. */
  const listed = () => balancer.seen.filter((body) => body.includes('"method":"tools/list"')).length;
  const threadId = await fleet.thread();
  await fleet.ask(threadId, 'say: hello');
  expect(listed()).toBe(1);
  await write(
    folder,
    'tea/SKILL.md',
    'name: tea\ndescription: Makes tea\nallowed-tools: skill__read_file',
    'Steep it.',
  );
  await expect.poll(listed).toBe(2);
  const run = await fleet.ask(threadId, 'call: skill__tea {}\ncall: time__current_time {}');
  expect(run).toMatchObject({ status: 'success', path: 'warm' });
  expect((await toolResults(fleet, threadId)).map(({ data }) => data.isError)).toEqual([false, true]);
  // The next run has everything again, as soon as the session has read its list anew.
  const refusedNow = async () => {
    await fleet.ask(threadId, 'call: time__current_time {}');
    return (await toolResults(fleet, threadId)).at(-1)?.data.isError;
  };
  await expect.poll(refusedNow).toBe(false);
});

test('an agent’s session has its tools alone, and one that is gone is a clear error', async () => {
  const folder = await openFolder();
  await write(
    folder,
    'clerk.md',
    'name: clerk\ndescription: Tells the time\ntools: time__current_time',
    'You tell the time.',
  );
  const fleet = await openFleet({ env: { HARNESS_AGENTS_DIR: folder } });
  const threadId = await fleet.thread({ agent: 'clerk' });
  await fleet.ask(threadId, 'call: time__current_time {}\ncall: delegation__delegate {"prompt": "x"}');
  expect((await toolResults(fleet, threadId)).map(({ data }) => data.isError)).toEqual([false, true]);
  await rm(join(folder, 'clerk.md'));
  await expect.poll(async () => (await fleet.get<{ agents: unknown[] }>('/v1/agents')).agents).toEqual([]);
  // What the gateways read last is in Redis a moment later.
  await expect
    .poll(() => fleet.ask(threadId, 'say: hello'), { timeout: 20_000 })
    .toMatchObject({ status: 'error', error: { code: 'agent_not_found' } });
});
