import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ThreadEvent } from '@harness/contracts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLogReader, type Log } from './log-reader.ts';

const eventOf = (n: number): ThreadEvent => ({
  id: `${n}-0`,
  type: 'agent.message',
  data: { type: 'agent.message', threadId: 'thr', at: '' },
});

/** An in-memory log whose reads take the given numbers of turns of the event loop. */
function openLog(delays: number[]) {
  const events: ThreadEvent[] = [];
  const inbox: string[] = [];
  let wake = () => {};
  let step = 0;
  let reads = 0;
  let listening = 0;
  const later = async () => {
    for (let n = delays[step++ % delays.length] ?? 0; n > 0; n--) await nextTurn();
  };
  const log: Log = {
    async page(start) {
      reads++;
      await later();
      const after = Number(start.match(/^\((\d+)/)?.[1] ?? -1);
      const found = events.filter(({ id }) => Number.parseInt(id ?? '', 10) > after).slice(0, 4);
      await later(); // the reply is in transit
      return {
        batches: [found.slice(0, 3), found.slice(3)].filter(({ length }) => length > 0),
        full: found.length === 4,
      };
    },
    newestId: async () => events.at(-1)?.id ?? undefined,
    async listen(signal) {
      listening++;
      signal.addEventListener('abort', () => {
        listening--;
        wake();
      });
      return {
        close: () => undefined,
        async *[Symbol.asyncIterator]() {
          while (!signal.aborted) {
            const message = inbox.shift();
            if (message !== undefined) yield message;
            else
              await new Promise<void>((resolve) => {
                wake = resolve;
              });
          }
        },
      };
    },
    liveEventOf: () => ({ ...eventOf(0), id: null, type: 'agent.message_delta' }),
    replayed: () => ({ ...eventOf(0), id: null, type: 'stream.replayed' }),
  };
  const publish = (message: string) => {
    inbox.push(message);
    wake();
  };
  return {
    log,
    append() {
      events.push(eventOf(events.length + 1));
      publish('');
    },
    delta: () => publish('delta'),
    trim: () => events.splice(0, events.length),
    reads: () => reads,
    listening: () => listening,
  };
}

const script = fc.record({
  delays: fc.array(fc.nat(3), { minLength: 1, maxLength: 8 }),
  before: fc.nat(12),
  subscribers: fc.array(
    fc.record({ at: fc.nat(20), cursor: fc.nat(12), busyEach: fc.nat(5), busyTurns: fc.nat(6) }),
    { minLength: 1, maxLength: 6 },
  ),
});

test('D7: whenever subscribers join, read slowly or leave, each sees the log from its cursor, once and in order', () =>
  fc.assert(
    fc.asyncProperty(script, async ({ delays, before, subscribers }) => {
      const open = openLog(delays);
      for (let n = 0; n < before; n++) open.append();
      const reader = createLogReader(open.log, () => undefined);
      const first = await reader.join({ take: () => undefined, end: () => undefined }, '-');
      const seen = subscribers.map(() => [] as ThreadEvent[]);
      const leaving: (() => void)[] = [first];
      const joining = subscribers.map(async ({ at, cursor, busyEach, busyTurns }, who) => {
        for (let n = 0; n < at; n++) await nextTurn();
        let taken = 0;
        const take = (events: readonly ThreadEvent[]) => {
          seen[who]?.push(...events);
          if (busyEach === 0 || ++taken % busyEach > 0) return undefined;
          return (async () => {
            for (let n = 0; n < busyTurns; n++) await nextTurn();
          })();
        };
        leaving.push(await reader.join({ take, end: () => undefined }, `(${cursor}-0`));
      });
      for (let n = 0; n < 20; n++) {
        open.append();
        await nextTurn();
      }
      await Promise.all(joining);
      const total = before + 20;
      const wanted = ({ cursor }: { cursor: number }) => Math.max(0, total - cursor);
      const storedOf = (who: number) => seen[who]?.flatMap(({ id }) => id ?? []) ?? [];
      for (let n = 0; n < 500; n++) {
        if (subscribers.every((one, who) => storedOf(who).length >= wanted(one))) break;
        await nextTurn();
      }
      subscribers.forEach((one, who) => {
        const ids = Array.from({ length: wanted(one) }, (_, n) => `${one.cursor + n + 1}-0`);
        expect(storedOf(who)).toEqual(ids);
      });
      for (const leave of leaving) leave();
      expect(open.listening()).toBe(0);
    }),
    { numRuns: 300 },
  ));

test('a log that is emptied while a subscriber catches up is not read forever', async () => {
  const open = openLog([1]);
  const reader = createLogReader(open.log, () => undefined);
  await reader.join({ take: () => undefined, end: () => undefined }, '-');
  for (let n = 0; n < 3; n++) open.append();
  for (let n = 0; n < 20; n++) await nextTurn();
  open.trim();
  const types: string[] = [];
  const take = (events: readonly ThreadEvent[]) => void types.push(...events.map(({ type }) => type));
  await reader.join({ take: (events) => take(events) as undefined, end: () => undefined }, '-');
  for (let n = 0; n < 20; n++) await nextTurn();
  const reads = open.reads();
  open.delta();
  for (let n = 0; n < 20; n++) await nextTurn();
  expect(types).toEqual(['stream.replayed', 'agent.message_delta']);
  expect(open.reads()).toBe(reads);
});

test('a subscriber that throws is ended; the others are not affected', async () => {
  const open = openLog([1]);
  const reader = createLogReader(open.log, () => undefined);
  let live = false;
  const ended = Promise.withResolvers<unknown>();
  await reader.join(
    {
      take(events) {
        if (live) throw new Error('broken');
        live = events[0]?.type === 'stream.replayed';
        return undefined;
      },
      end: ended.resolve,
    },
    '-',
  );
  const seen: unknown[] = [];
  await reader.join(
    {
      take: (events) => void seen.push(...events) as undefined,
      end: () => undefined,
    },
    '-',
  );
  for (let n = 0; n < 20; n++) await nextTurn();
  open.append();
  expect(await ended.promise).toMatchObject({ message: 'broken' });
  for (let n = 0; n < 20; n++) await nextTurn();
  expect(seen).toHaveLength(2);
});
