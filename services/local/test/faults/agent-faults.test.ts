import { request } from 'node:http';
import type { Run } from '@harness/contracts';
import { expect, test } from 'vitest';
import { livingWorkers } from './faults.ts';
import { effectOf } from './load.ts';
import { memoryOf } from './processes.ts';
import { violationsOf } from './under-faults.ts';
import { until } from './until.ts';

/** Maximum memory of a worker, whatever its agents write, bytes. */
const memoryLimit = 500 * 1024 * 1024;

test('F6 a caller disconnects while it waits: the wait ends, the turn continues', async () => {
  const wrong = await violationsOf({ workers: 1 }, async ({ client, effects, gatewayUrls }) => {
    const [gateway = ''] = gatewayUrls();
    const threadId = await client.thread();
    const waiting = postAndLeave(`${gateway}/v1/threads/${threadId}/runs/wait`, {
      input: `${effectOf(1)}\nsleep: 500\n${effectOf(1)}\nsay: 1`,
    });
    await until('the turn is under way', () => effects.read().length === 1);
    waiting.leave();
    const tool = postAndLeave(`${gateway}/mcp`, {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'effects__wait', arguments: { n: 1 }, _meta: { 'harness/threadId': threadId } },
    });
    await until('the tool waits', () => effects.read().some(({ kind }) => kind === 'waiting'));
    tool.leave();
    const ended = await until('the tool is notified', () =>
      effects.read().find(({ kind }) => kind === 'cancelled' || kind === 'waited'),
    );
    expect(ended.kind).toBe('cancelled');
    const run = await until('the turn has its result', async () =>
      (await client.runs(threadId)).find(({ endedAt }) => endedAt),
    );
    expect(run).toMatchObject({ status: 'success', result: '1', attempt: 1 });
  });
  expect(wrong).toEqual([]);
});

test('F16 agents die, flood, write invalid output and ignore signals: their turns end, their worker survives', async () => {
  const harms = [
    'once sigkill die: SIGKILL',
    'once exit die: exit0',
    'once oom die: oom',
    'flood: 5000000',
    'noise: 1000000',
    'ignore-sigterm:',
  ];
  const wrong = await violationsOf({ workers: 1 }, async ({ load, settled, workers, client }) => {
    const scriptOf = (n: number) => [effectOf(n), harms[n - 1], effectOf(n), `say: ${n}`].join('\n');
    const work = await load({ threads: 2, messages: harms.length, scriptOf, gapMs: 0 });
    await settled(work);
    for (const { process } of workers) expect(memoryOf(process.pid ?? 0)).toBeLessThan(memoryLimit);
    const attempts = (await Promise.all(work.threadIds.map(client.runs)))
      .flat()
      .map(({ attempt }) => attempt);
    expect(Math.max(...attempts)).toBe(2);
  });
  expect(wrong).toEqual([]);
});

test('F16 the system refuses to start an agent process: after three tries the run fails, and the thread continues', async () => {
  const wrong = await violationsOf({ workers: 1 }, async ({ client, redis }) => {
    const threadId = await client.thread();
    // Of earlier releases: an argument that no process can be given.
    await redis.hset(`{h}:th:${threadId}`, 'model', 'a\0b');
    const endOf = async ({ runId }: Run) =>
      until('the run has ended', async () =>
        (await client.runs(threadId)).find((run) => run.runId === runId && run.endedAt),
      );
    const refused = await endOf(await client.send(threadId, 'say: 1', 'first'));
    expect(refused).toMatchObject({ status: 'error', error: { code: 'session_failed' } });
    await redis.hdel(`{h}:th:${threadId}`, 'model');
    const next = await endOf(await client.send(threadId, 'say: 2', 'second'));
    expect(next).toMatchObject({ status: 'success', result: '2' });
  });
  expect(wrong).toEqual([]);
});

test('F16 one agent stops reading during a turn, another never responds: both turns end in time', async () => {
  const env = { HARNESS_TURN_TIMEOUT_MS: '2000' };
  const wrong = await violationsOf(
    { workers: 1, env },
    async ({ load, settled, client, curseNextAgent, cursed }) => {
      const script = (harm: string) => (n: number) => (n === 1 ? harm : `say: ${n}`);
      const mayFail = (n: number) => n === 1;
      await curseNextAgent('deaf-from-start');
      const mute = await load({ threads: 1, messages: 2, scriptOf: script('say: 1'), mayFail });
      await cursed();
      const deaf = await load({ threads: 1, messages: 2, scriptOf: script('deaf:'), mayFail });
      await Promise.all([settled(deaf), settled(mute)]);
      const [first] = await client.runs(deaf.threadIds[0] ?? '');
      expect(first).toMatchObject({ status: 'timeout', error: { code: 'turn_timeout' } });
    },
  );
  expect(wrong).toEqual([]);
});

test('F18 a message that kills its worker is parked after three crashes; all other threads continue', async () => {
  const wrong = await violationsOf({ workers: 2 }, async (story) => {
    const { load, settled, client, workers, addWorker } = story;
    const isPoison = (n: number) => n === 1;
    const poison = await load({
      threads: 1,
      messages: 2,
      scriptOf: (n) => (isPoison(n) ? 'sleep: 300\nkill-worker:' : `say: ${n}`),
      mayFail: isPoison,
    });
    // Turns long enough to run at each crash: none of them may be parked as the cause.
    const others = await load({ threads: 4, messages: 4, turnMs: 1_000, gapMs: 300 });
    const done = Promise.all([settled(poison), settled(others)]);
    const crashes = () => workers.length - livingWorkers(story).length;
    for (let n = 1; n <= 3; n++) {
      await until(`worker ${n} has crashed`, () => crashes() >= n);
      await addWorker();
    }
    await done;
    const [first] = (await client.runs(poison.threadIds[0] ?? '')) as [Run];
    expect(first).toMatchObject({ status: 'error', error: { code: 'attempts_exhausted' } });
    expect(crashes()).toBe(3);
  });
  expect(wrong).toEqual([]);
});

/** A request whose caller disconnects before the response. */
function postAndLeave(url: string, body: object): { leave(): void } {
  const outgoing = request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  });
  outgoing.on('error', () => undefined);
  outgoing.end(JSON.stringify(body));
  return { leave: () => outgoing.destroy() };
}
