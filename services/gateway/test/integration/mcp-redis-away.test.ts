import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedRedis } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { openGateway } from '../fixture.ts';
import { beginSession, type Message, modernCaller, type OldSession } from '../mcp-wire.ts';
import { createPlay } from '../play-plugin.ts';

/** A gateway on a separate Redis, which is killed and restarted with its data. */
async function openOnOwnRedis() {
  const dir = await mkdtemp(join(tmpdir(), 'harness-away-'));
  const redis = await startEmbeddedRedis(dir);
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const play = createPlay('A');
  const gateway = await openGateway({ redisUrl: redis.url, plugins: [play.plugin] });
  return {
    play,
    gateway,
    async whileAway(happens: () => void) {
      redis.process.kill('SIGKILL');
      await expect.poll(async () => (await gateway.call('GET', '/readyz')).status).toBe(503);
      happens();
      const again = await startEmbeddedRedis(dir);
      onTestFinished(() => again.close());
    },
  };
}

test('a task that ends while Redis is down has its result when Redis is back', async () => {
  const { play, gateway, whileAway } = await openOnOwnRedis();
  const client = modernCaller({ capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } });
  const started = play.next('started');
  const { taskId } = (await (await client.call(gateway.url, 'play__job')).message()).result;
  await started;
  await whileAway(() => play.go());
  const task = async () =>
    (await (await client.request(gateway.url, 'tasks/get', { params: { taskId } })).message()).result;
  await expect.poll(async () => (await task())?.status).toBe('completed');
  expect((await task()).result).toMatchObject({ content: [{ text: 'done at A' }] });
});

test('after an outage of Redis a stream continues without gaps, for connected and for resuming clients', async () => {
  const { play, gateway, whileAway } = await openOnOwnRedis();
  const session = await beginSession(gateway.url);
  play.go();
  const _meta = { progressToken: 'p' };
  const stream = await session.call(gateway.url, 'play__steps', { args: { upTo: 3 }, id: 5, _meta });
  const first = await stream.next();
  expect((await stream.message()).params.progress).toBe(1);
  const reading = readToTheEnd(session, { url: gateway.url, lastEventId: first?.id });
  await whileAway(() => play.go(2));
  const [second, third, answer, ...more] = await stream.rest();
  expect([second?.params.progress, third?.params.progress, more]).toEqual([2, 3, []]);
  expect(answer).toMatchObject({ id: 5, result: { content: [{ text: '3 steps at A' }] } });
  const again = await (await session.listen(gateway.url, first?.id)).rest();
  const seen = (messages: Message[]) => messages.map(({ id, params }) => params?.progress ?? id);
  expect(seen(again)).toEqual([1, 2, 3, 5]);
  expect(seen(await reading)).toEqual([1, 2, 3, 5]);
});

/** Resumes after the last event whenever the stream ends without the result, as clients do. */
async function readToTheEnd(session: OldSession, from: { url: string; lastEventId: string | undefined }) {
  const messages: Message[] = [];
  let last = from.lastEventId;
  for (;;) {
    const stream = await session.listen(from.url, last);
    for (let frame = await stream.next(); frame && stream.status === 200; frame = await stream.next()) {
      if (frame.message) messages.push(frame.message);
      if (frame.message?.result) return messages;
      last = frame.id;
    }
  }
}
