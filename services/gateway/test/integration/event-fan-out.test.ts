import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { ThreadEvent } from '@harness/contracts';
import { connectRedis, createLogger, startEmbeddedRedis } from '@harness/runtime';
import { createParser } from 'eventsource-parser';
import { expect, onTestFinished, test } from 'vitest';
import { openFakeWorker, openGateway } from '../fixture.ts';
import { readEvents } from '../read-events.ts';

const tenant = 'default';
const last = 'the last';

/** A gateway on a separate Redis, whose commands can be counted, and a turn that emits events. */
async function openTalk() {
  const dir = await mkdtemp(join(tmpdir(), 'harness-fan-out-'));
  const server = await startEmbeddedRedis(dir);
  const redis = connectRedis(server.url, { logger: createLogger('test', 'silent'), patience: 'wait' });
  onTestFinished(async () => {
    redis.disconnect();
    await server.close();
    await rm(dir, { recursive: true, force: true });
  });
  const gateway = await openGateway({ redisUrl: server.url, isPatient: true });
  const { dispatch, url } = gateway;
  const { threadId } = (await dispatch.threads.create(tenant, {})).thread;
  await dispatch.runs.append({ tenant, threadId, request: { input: 'x' }, idempotencyKey: 'k' });
  const turn = await (await openFakeWorker(dispatch, redis)).begin(threadId);
  let counter = 0;
  return {
    path: `${url}/v1/threads/${threadId}/events?follow=true`,
    say: (text: string, live = false) =>
      dispatch.lease.emit(turn, {
        counter: ++counter,
        events: [{ type: live ? 'agent.message_delta' : 'agent.message', text, live }],
      }),
    stored: () => dispatch.events.read({ threadId }, undefined, 10_000),
    readers: async () => Number((await redis.pubsub('NUMSUB', dispatch.keys.of('ch', threadId)))[1]),
    async reads() {
      const stats = await redis.info('commandstats');
      return Number(stats.match(/cmdstat_xrange:calls=(\d+)/)?.[1] ?? 0);
    },
  };
}

const isLast = (event: ThreadEvent) => event.data.text === last;
const idsOf = (events: ThreadEvent[]) => events.flatMap(({ id }) => id ?? []);

test('200 subscribers that join at any time, from any cursor, each get the log from there on', async () => {
  const talk = await openTalk();
  for (let n = 0; n < 250; n++) await talk.say(`before ${n}`);
  const before = idsOf(await talk.stored());
  const readsBefore = await talk.reads();

  const subscribers = Array.from({ length: 200 }, async (_, n) => {
    await wait(Math.random() * 1500);
    const cursor = n % 10 === 0 ? undefined : before[Math.floor(Math.random() * before.length)];
    const headers: Record<string, string> = cursor === undefined ? {} : { 'last-event-id': cursor };
    const left = new Set(['stream.replayed', last]);
    const until = ({ type, data }: ThreadEvent) => {
      left.delete(type);
      left.delete(String(data.text));
      return left.size === 0;
    };
    return { cursor, seen: await readEvents(talk.path, { headers, until }) };
  });
  const destroyed = request(talk.path, (response) => response.once('data', () => destroyed.destroy()));
  destroyed.on('error', () => undefined).end();
  const slow = openSlow(talk.path);
  let sent = 0;
  for (const until = Date.now() + 2000; Date.now() < until; sent++) {
    await talk.say(`live ${sent}`, sent % 5 === 0);
    await wait(Math.random() * 8);
  }
  await talk.say(last);
  slow.resume();

  const stored = await talk.stored();
  for (const { cursor, seen } of await Promise.all(subscribers)) {
    const wanted = cursor === undefined ? stored : stored.filter(({ id }) => isAfter(id, cursor));
    expect(seen.filter(({ id }) => id !== null)).toEqual(wanted);
    expect(seen.filter(({ type }) => type === 'stream.replayed')).toHaveLength(1);
  }
  expect(idsOf(await slow.seen)).toEqual(idsOf(stored));
  // A check and a page or two each, one page for each event: not 200 for each event.
  expect(await talk.reads()).toBeLessThan(readsBefore + 202 * 5 + sent * 2);
  await expect.poll(talk.readers).toBe(0);
});

test('live deltas reach each subscriber once, in order; the log is read once for all', async () => {
  const talk = await openTalk();
  const joined = Array.from({ length: 100 }, () => Promise.withResolvers<void>());
  const reading = joined.map(({ resolve }) => {
    let live = -1;
    const until = ({ type }: ThreadEvent) => {
      if (type === 'stream.replayed') resolve();
      // A delta may arrive after a younger stored event, so the last event received is not always the last emitted.
      return (type === 'stream.replayed' || live >= 0) && ++live === 101;
    };
    return readEvents(talk.path, { until });
  });
  await Promise.all(joined.map(({ promise }) => promise));
  await expect.poll(talk.readers).toBe(1);
  const readsBefore = await talk.reads();
  for (let n = 0; n < 50; n++) await talk.say(`delta ${n}`, true).then(() => talk.say(`m${n}`));
  await talk.say(last);
  for (const seen of await Promise.all(reading)) {
    const live = seen.slice(seen.findIndex(({ type }) => type === 'stream.replayed') + 1);
    const deltas = live.flatMap(({ type, data }) => (type === 'agent.message_delta' ? [data.text] : []));
    expect(deltas).toEqual(Array.from({ length: 50 }, (_, n) => `delta ${n}`));
    expect(live).toHaveLength(101);
  }
  expect((await talk.reads()) - readsBefore).toBeLessThanOrEqual(52);
});

test('a slow reader does not delay others, and gets everything when it continues', async () => {
  const talk = await openTalk();
  const others = Array.from({ length: 5 }, () => readEvents(talk.path, { until: isLast }));
  const slow = openSlow(talk.path);
  await slow.answered;
  const text = 'x'.repeat(100_000);
  for (let n = 0; n < 100; n++) await talk.say(`${n} ${text}`);
  await talk.say(last);
  const wanted = idsOf(await talk.stored());
  for (const seen of await Promise.all(others)) expect(idsOf(seen)).toEqual(wanted);
  slow.resume();
  expect(idsOf(await slow.seen)).toEqual(wanted);
});

/** A subscriber that does not read its socket until the test starts it. */
function openSlow(url: string) {
  const answered = Promise.withResolvers<void>();
  const resumed = Promise.withResolvers<void>();
  const seen = new Promise<ThreadEvent[]>((resolve, reject) => {
    const events: ThreadEvent[] = [];
    const leave = request(url, { agent: false }, async (response) => {
      const parser = createParser({
        onEvent({ id, event, data }) {
          events.push({ id: id ?? null, type: event as ThreadEvent['type'], data: JSON.parse(data) });
          if (!isLast(events.at(-1) as ThreadEvent)) return;
          resolve(events);
          leave.destroy();
        },
      });
      response.pause();
      answered.resolve();
      await resumed.promise;
      response
        .setEncoding('utf8')
        .on('data', (chunk: string) => parser.feed(chunk))
        .resume();
      response.on('error', reject).on('close', () => reject(new Error('it was cut')));
    }).end();
  });
  return { answered: answered.promise, resume: resumed.resolve, seen };
}

function isAfter(id: string | null, cursor: string): boolean {
  const [a = 0, b = 0] = (id ?? '').split('-').map(Number);
  const [ms = 0, n = 0] = cursor.split('-').map(Number);
  return a > ms || (a === ms && b > n);
}
