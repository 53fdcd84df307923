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
  /** The same as a generator; it ends when `signal` aborts. */
  follow(scope: EventScope, start: Start, signal: AbortSignal): AsyncGenerator<ThreadEvent>;
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
  const check = async (scope: EventScope, after: string | undefined) => {
    if (after === undefined || /^0(-0)?$/.test(after)) return;
    if (!cursorPattern.test(after))
      throw new AppError(
        'invalid_request',
        `"${after}" is not an event id, which looks like 1700000000000-0.`,
      );
    const oldest = await (isTree(scope) ? oldestOfTree(scope, after) : oldestOf(streamOf(scope), after));
    if (oldest === undefined) return;
    const message = 'Events after this one are no longer kept; start again without a cursor.';
    throw new AppError('events_trimmed', message, { details: { oldest } });
  };
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
    async *follow(scope, start, signal) {
      const inbox = createInbox();
      const leave = await log.subscribe(scope, start, inbox);
      signal.addEventListener('abort', inbox.close, { once: true });
      if (signal.aborted) inbox.close();
      try {
        yield* inbox.read();
      } finally {
        leave();
        signal.removeEventListener('abort', inbox.close);
      }
    },
  };
  return log;
}

/** Buffers events until the generator is asked for them; takes no more while a page is unread. */
function createInbox() {
  const unread: ThreadEvent[] = [];
  let failure: { error: unknown } | undefined;
  let closed = false;
  let wake: (() => void) | undefined;
  let room: (() => void) | undefined;
  const close = () => {
    closed = true;
    wake?.();
  };
  return {
    take(events: readonly ThreadEvent[]) {
      unread.push(...events);
      wake?.();
      if (unread.length < pageSize) return undefined;
      return new Promise<void>((resolve) => {
        room = resolve;
      });
    },
    end(error?: unknown) {
      failure = { error };
      close();
    },
    close,
    async *read(): AsyncGenerator<ThreadEvent> {
      for (;;) {
        for (let event = unread.shift(); event && (!closed || failure); event = unread.shift()) yield event;
        room?.();
        if (failure) throw failure.error;
        if (closed) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
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
