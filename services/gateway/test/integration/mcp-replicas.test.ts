/** MCP of the 2025 era with every request at a different gateway. */
import { expect, test } from 'vitest';
import { bearer, keyFor } from '../fixture.ts';
import { beginSession, type Message, type Wire } from '../mcp-wire.ts';
import { openReplicas } from '../open-replicas.ts';

const textIn = ({ result }: Message) => result.content[0].text as string;
const asking = { elicitation: {} };

test('a session created at one gateway is served at every gateway, and unknown to another key at each', async () => {
  const keys = [keyFor('mine'), keyFor('other'), keyFor('foreign', { tenant: 'else' })];
  const gateways = await openReplicas(['A', 'B', 'C'], { keys });
  const session = await beginSession(gateways[0].url, { headers: bearer('mine') });
  for (const [n, { url }] of gateways.entries()) {
    const answer = await (await session.call(url, 'play__where')).message();
    expect(textIn(answer)).toBe(['A', 'B', 'C'][n]);
    for (const key of ['other', 'foreign']) {
      const stranger = session.as(bearer(key));
      expect((await stranger.request(url, 'tools/list')).status).toBe(404);
      expect((await stranger.listen(url)).status).toBe(404);
      expect(await stranger.end(url)).toBe(404);
    }
  }
  expect((await session.request(gateways[1].url, 'ping')).status).toBe(200);
});

test('a session that is ended at one gateway has ended at the others, with its stream', async () => {
  const [a, b] = await openReplicas(['A', 'B']);
  const session = await beginSession(a.url);
  const stream = await session.listen(b.url);
  expect(await session.end(a.url)).toBe(204);
  expect(await stream.rest()).toEqual([]);
  expect((await session.request(b.url, 'tools/list')).status).toBe(404);
  expect((await session.listen(b.url)).status).toBe(404);
});

test('a question of one gateway is answered through another', async () => {
  const [a, b, c] = await openReplicas(['A', 'B', 'C']);
  const session = await beginSession(c.url, { capabilities: asking });
  const call = await session.call(a.url, 'play__ask', { id: 7 });
  const { id, method } = await call.message();
  expect(method).toBe('elicitation/create');
  expect(await session.say(b.url, { id, result: { action: 'accept', content: { name: 'Ada' } } })).toBe(202);
  const answer = await call.message();
  expect(answer.id).toBe(7);
  expect(JSON.parse(textIn(answer))).toEqual({
    who: { action: 'accept', content: { name: 'Ada' } },
    state: { askedAt: 'A' },
    place: 'A',
  });
});

test('a client that refuses the question, and one that cannot be asked, get an error', async () => {
  const [a, b] = await openReplicas(['A', 'B']);
  const session = await beginSession(a.url, { capabilities: asking });
  const call = await session.call(a.url, 'play__ask');
  const { id } = await call.message();
  await session.say(b.url, { id, error: { code: -1, message: 'nobody is here' } });
  expect((await call.message()).error.message).toContain('nobody is here');

  const mute = await beginSession(a.url);
  expect((await (await mute.call(b.url, 'play__ask')).message()).error.data.code).toBe('capability_missing');
});

test('a cancellation sent to one gateway aborts the call at another, and no call of another session', async () => {
  const [a, b] = await openReplicas(['A', 'B']);
  const sessions = [await beginSession(a.url), await beginSession(b.url)] as const;
  const signals: AbortSignal[] = [];
  const calls: Promise<Wire>[] = [];
  for (const session of sessions) {
    const started = a.play.next('started');
    calls.push(session.call(a.url, 'play__hang', { id: 7 }));
    signals.push((await started).signal as AbortSignal);
  }
  for (const [n, session] of sessions.entries()) {
    expect(signals.map(({ aborted }) => aborted)).toEqual([n > 0, false]);
    const aborted = a.play.next('aborted');
    const params = { requestId: 7 };
    expect(await session.say(b.url, { method: 'notifications/cancelled', params })).toBe(202);
    expect(await aborted).toMatchObject({ place: 'A', reason: 'The call was cancelled.' });
    expect((await (await calls[n])?.message())?.id).toBe(7);
  }
});

test('calls with the ids 7 and "7" are two calls: each is cancelled by its own id', async () => {
  const [a, b] = await openReplicas(['A', 'B']);
  const session = await beginSession(a.url);
  const started: Record<string, unknown>[] = [];
  for (const id of [7, '7']) {
    const next = a.play.next('started');
    void session.call(a.url, 'play__hang', { id: id as number });
    started.push(await next);
  }
  const isAborted = () => started.map(({ signal }) => (signal as AbortSignal).aborted);
  const cancel = async (at: string, requestId: number | string) => {
    const aborted = a.play.next('aborted');
    await session.say(at, { method: 'notifications/cancelled', params: { requestId } });
    await aborted;
  };
  await cancel(a.url, 7);
  expect(isAborted()).toEqual([true, false]);
  await cancel(b.url, '7');
  expect(isAborted()).toEqual([true, true]);
});

test('changes at one gateway reach streams at another: lists all streams, resources the subscribed ones', async () => {
  const [a, b] = await openReplicas(['A', 'B']);
  const [session, other] = [await beginSession(a.url), await beginSession(a.url)];
  await session.request(a.url, 'resources/subscribe', { params: { uri: 'play://one' } });
  const [stream, otherStream] = [await session.listen(b.url), await other.listen(b.url)];
  const touch = async (uri: string) =>
    (await session.call(a.url, 'play__touch', { args: { uri } })).message();
  const updated = { method: 'notifications/resources/updated', params: { uri: 'play://one' } };
  const relisted = { method: 'notifications/tools/list_changed' };

  await touch('play://two');
  await touch('play://one');
  expect(await stream.message()).toMatchObject(updated);
  await session.request(b.url, 'resources/unsubscribe', { params: { uri: 'play://one' } });
  await touch('play://one');
  await session.call(a.url, 'play__relist');
  expect(await stream.message()).toMatchObject(relisted);
  expect(await otherStream.message()).toMatchObject(relisted);

  await a.dispatch.pluginStates.set({ plugin: 'play', enabled: false });
  const notified = [await stream.message(), await stream.message(), await stream.message()];
  expect(notified.map(({ method }) => method)).toEqual(
    ['tools', 'resources', 'prompts'].map((list) => `notifications/${list}/list_changed`),
  );
  const { result } = await (await session.request(b.url, 'tools/list')).message();
  expect(result.tools).toEqual([]);
});

test('a newer stream of a session closes the older one at another gateway', async () => {
  const [a, b] = await openReplicas(['A', 'B']);
  const session = await beginSession(a.url);
  const older = await session.listen(a.url);
  const newer = await session.listen(b.url);
  expect(await older.rest()).toEqual([]);
  await session.call(a.url, 'play__relist');
  expect((await newer.message()).method).toBe('notifications/tools/list_changed');
});

test('of streams opened at the same time exactly one stays open', async () => {
  const [a, b] = await openReplicas(['A', 'B']);
  const session = await beginSession(a.url);
  const streams = await Promise.all([a, b, a, b, a, b].map(({ url }) => session.listen(url)));
  let open = streams.length;
  const last = Promise.withResolvers<void>();
  const frames = streams.map(async (stream) => {
    const frame = await stream.next();
    if (!frame && --open === 1) last.resolve();
    return frame?.message?.method;
  });
  await last.promise;
  await session.call(a.url, 'play__relist');
  const notified = await Promise.all(frames);
  expect(notified.filter(Boolean)).toEqual(['notifications/tools/list_changed']);
});

test('the log level set at one gateway applies at another', async () => {
  const [a, b] = await openReplicas(['A', 'B']);
  const session = await beginSession(a.url);
  const levels = async () => {
    const messages = await (await session.call(b.url, 'play__chat')).rest();
    return messages.filter(({ method }) => method === 'notifications/message').map((m) => m.params.level);
  };
  expect(await levels()).toEqual(['info', 'warning', 'error']);
  const set = await session.request(a.url, 'logging/setLevel', { params: { level: 'error' } });
  expect(await set.message()).toMatchObject({ result: {} });
  await expect.poll(levels).toEqual(['error']);
  const wrong = await session.request(b.url, 'logging/setLevel', { params: { level: 'loud' } });
  expect((await wrong.message()).error.code).toBe(-32602);
});
