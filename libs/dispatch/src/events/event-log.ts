/**
 * The event log of threads, trees and buses.
 *
 * This folder:
 *   log-reader.ts    one reader of a log for all its subscribers in this process
 *   add-event.lua    stores events and orders those of a tree (shared definitions)
 *   tree-events.lua  script: the events of a thread and all threads below it
 */
import { AppError, type EventType, type ThreadEvent } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Feed } from '../redis/feed.ts';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import { listOf, type Scripts, scriptsBeside } from '../redis/scripts.ts';
import { createLogReader, isBefore, type Log, type LogReader, type Subscriber } from './log-reader.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['tree-events'] });

/**
 * Which events: those of one thread, or (`children`) those of a root thread and all threads below it; or
 * those of a tenant's bus.
 */
export type EventScope =
  /** `threadId`: the thread's own id. `shownId`: the id that callers know. */
  { threadId: string; shownId?: string | undefined; children?: boolean | undefined } | { busOf: string };

/** Reads and follows events. */
export interface EventLog {
  /**
   * Stored events after a cursor (an event id; undefined = from the oldest kept), at most `limit`. Throws
   * `events_trimmed` for a cursor older than what is kept, `invalid_request` for one that is not an event id.
   */
  read(scope: EventScope, after: string | undefined, limit: number): Promise<ThreadEvent[]>;
  /**
   * D7: passes everything after the cursor, then `stream.replayed` once, then new events, without gap or
   * repeat. New events are read once for all subscribers of this process. Resolves before the first event;
   * the returned function ends the subscription. Throws like `read`.
   */
  subscribe(scope: EventScope, start: Start, subscriber: Subscriber): Promise<() => void>;
  /**
   * Passes the same events to `isLast`, one by one. Resolves when it has returned true, when the log is deleted with
   * its thread, or when `signal` aborts. Throws like `read`.
   */
  until(scope: EventScope, start: Start, reading: EventReading): Promise<void>;
}

/** What `until` calls, and how long it reads. */
export interface EventReading {
  /** Takes one event; whether it is the last one wanted. */
  isLast(event: ThreadEvent): boolean;
  signal: AbortSignal;
}

/** Where to start: after event `after`, or at event `from` itself. */
export interface Start {
  after?: string | undefined;
  from?: string;
}

const pageSize = 200;
/**
 * Events are passed together up to this many characters of data, so that a subscriber's limit is not exceeded
 * by much.
 */
const batchChars = 32 * 1024;
const cursorPattern = /^\d{1,15}(-\d{1,10})?$/;

type TreeScope = { threadId: string };
const isTree = (scope: EventScope): scope is TreeScope => 'threadId' in scope && scope.children === true;

interface TreePage {
  entries?: Entry[];
  full: boolean;
  oldest?: string;
}

/** A log has one reader while it has subscribers in this process. */
export function createEventLog(deps: { redis: Redis; keys: Keys; scripts: Scripts; feed: Feed }): EventLog {
  const { redis, keys, scripts, feed } = deps;
  const readers = new Map<string, LogReader>();
  const streamOf = (scope: EventScope) =>
    'busOf' in scope ? keys.of('bev', scope.busOf) : keys.of('ev', scope.threadId);
  const nameOf = (scope: EventScope) => (isTree(scope) ? `${streamOf(scope)} children` : streamOf(scope));
  /** A thread's own events are announced on its channel, those of threads below it on the tree's. */
  const channelsOf = (scope: EventScope) => {
    if ('busOf' in scope) return [keys.of('chbus', scope.busOf)];
    const own = keys.of('ch', scope.threadId);
    return isTree(scope) ? [own, keys.of('chtree', scope.threadId)] : [own];
  };

  const pageOf = async (scope: EventScope, start: string, limit: number) => {
    if (!isTree(scope)) {
      const entries = await reached(redis.xrange(streamOf(scope), start, '+', 'COUNT', limit));
      return { entries, full: entries.length === limit };
    }
    const { threadId } = scope;
    const args = { threadId, start, count: limit };
    const { entries, full } = await scripts.call<TreePage>(lua['tree-events'], args);
    return { entries: listOf(entries), full };
  };
  const check = createCursorCheck({ redis, scripts, streamOf });
  const startOf = (after: string | undefined) => (after === undefined ? '-' : `(${after}`);

  const logOf = (scope: EventScope): Log => ({
    async page(start) {
      const { entries, full } = await pageOf(scope, start, pageSize);
      return { batches: batchesOf(entries), full };
    },
    async newestId() {
      const [newest] = await reached(redis.xrevrange(streamOf(scope), '+', '-', 'COUNT', 1));
      return newest?.[0];
    },
    listen: (signal) => feed.listen(channelsOf(scope), signal),
    liveEventOf,
    replayed: () => ({
      id: null,
      type: 'stream.replayed',
      data: {
        type: 'stream.replayed',
        ...('busOf' in scope ? {} : { threadId: scope.shownId ?? scope.threadId }),
        at: new Date().toISOString(),
      },
    }),
  });
  const readerOf = (scope: EventScope): LogReader => {
    const name = nameOf(scope);
    const found = readers.get(name) ?? createLogReader(logOf(scope), () => readers.delete(name));
    readers.set(name, found);
    return found;
  };

  const log: EventLog = {
    async read(scope, after, limit) {
      await check(scope, after);
      const { entries } = await pageOf(scope, startOf(after), limit);
      return entries.map(([id, fields]) => eventOf(id, fields));
    },
    async subscribe(scope, { after, from }, subscriber) {
      await check(scope, after);
      return readerOf(scope).join(subscriber, from ?? startOf(after));
    },
    until: (scope, start, reading) =>
      untilLast((subscriber) => log.subscribe(scope, start, subscriber), reading),
  };
  return log;
}

/** Creates the check of a cursor. It throws `invalid_request` and `events_trimmed`. */
function createCursorCheck(deps: { redis: Redis; scripts: Scripts; streamOf(scope: EventScope): string }) {
  const { redis, scripts, streamOf } = deps;
  /** The oldest kept event, if events after the cursor have been trimmed. */
  const oldestOf = async (stream: string, after: string) => {
    const [oldest] = await reached(redis.xrange(stream, '-', '+', 'COUNT', 1));
    if (!oldest || !isBefore(after, oldest[0])) return undefined;
    const info = await reached(redis.xinfo('STREAM', stream));
    return numberIn(info, 'entries-added') > numberIn(info, 'length') ? oldest[0] : undefined;
  };
  const oldestOfTree = async ({ threadId }: TreeScope, after: string) => {
    const args = { threadId, start: '+', count: 1, after };
    const answer = await scripts.call<TreePage>(lua['tree-events'], args);
    return answer.oldest;
  };
  return async (scope: EventScope, after: string | undefined): Promise<void> => {
    if (after === undefined || /^0(-0)?$/.test(after)) return;
    if (!cursorPattern.test(after))
      throw new AppError(
        'invalid_request',
        `"${after}" is not an event id, which looks like 1700000000000-0. Send the id of an event, or no cursor.`,
      );
    const oldest = await (isTree(scope) ? oldestOfTree(scope, after) : oldestOf(streamOf(scope), after));
    if (oldest === undefined) return;
    const message = 'Events after this one are no longer kept; start again without a cursor.';
    throw new AppError('events_trimmed', message, { details: { oldest } });
  };
}

/** Passes events to `isLast` until it returns true, the log ends or the signal aborts. */
async function untilLast(
  subscribe: (subscriber: Subscriber) => Promise<() => void>,
  { isLast, signal }: EventReading,
): Promise<void> {
  const ended = Promise.withResolvers<void>();
  let isOver = false;
  const end = (error?: unknown) => {
    isOver = true;
    if (error === undefined) ended.resolve();
    else ended.reject(error);
  };
  const take = (events: readonly ThreadEvent[]) => {
    for (const event of events) if (!isOver && isLast(event)) end();
    return undefined;
  };
  const onAbort = () => end();
  const leave = await subscribe({ take, end });
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) end();
  await ended.promise.finally(() => {
    leave();
    signal.removeEventListener('abort', onAbort);
  });
}

type Entry = [id: string, fields: string[]];

function batchesOf(entries: Entry[]): ThreadEvent[][] {
  const batches: ThreadEvent[][] = [];
  let chars = 0;
  for (const [id, fields] of entries) {
    const size = fieldOf(fields, 'data').length;
    if (batches.length === 0 || chars + size > batchChars) {
      batches.push([]);
      chars = 0;
    }
    batches.at(-1)?.push(eventOf(id, fields));
    chars += size;
  }
  return batches;
}

const fieldOf = (fields: string[], name: string) => fields[fields.indexOf(name) + 1] ?? '';

function eventOf(id: string, fields: string[]): ThreadEvent {
  const value = (name: string) => fieldOf(fields, name);
  const at = new Date(Number(value('at'))).toISOString();
  const data = JSON.parse(value('data')) as object;
  const thread = fields.includes('threadId') ? { threadId: value('threadId') } : {};
  const type = value('type') as EventType;
  return { id, type, data: { type, ...thread, at, ...data } };
}

function liveEventOf(message: string): ThreadEvent {
  const { type, at, threadId, data } = JSON.parse(message) as Record<string, string> & { type: EventType };
  const stamped = {
    type,
    threadId: threadId ?? '',
    at: new Date(Number(at)).toISOString(),
    ...JSON.parse(data ?? '{}'),
  };
  return { id: null, type, data: stamped };
}

function numberIn(info: unknown, name: string): number {
  const flat = info as unknown[];
  return Number(flat[flat.indexOf(name) + 1]);
}
