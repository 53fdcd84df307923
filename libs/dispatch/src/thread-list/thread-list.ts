/**
 * Lists of a tenant's threads with filters: as fast at a hundred thousand threads as at a hundred.
 *
 *   thread-index.lua   which indexes a thread is in (shared definitions)
 *   index-threads.lua  indexes the threads of earlier releases
 *   match-threads.lua  looks for a text, or a value of the metadata
 *   latest-runs.ts     the latest run of each thread in a list
 *   latest-runs.lua    its script
 *
 * Time and one of state, agent and skill are found by an index. A second one of these three, a text and metadata are checked
 * thread by thread: at most `maxScanned` for a page, which then ends with a cursor.
 */
import { AppError, type Thread } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import { type Hash, threadOf } from '../redis/records.ts';
import { listOf, type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['index-threads', 'match-threads'] });

/** Which threads, and which page of them. */
export interface ThreadQuery {
  limit: number;
  /** Counts from the latest thread; not with a cursor. */
  offset?: number | undefined;
  /** From the previous page. */
  cursor?: string | undefined;
  state?: Thread['state'] | undefined;
  agent?: string | undefined;
  skill?: string | undefined;
  /** Used at this time or later, ms since 1970. */
  fromMs?: number | undefined;
  /** Used at this time or earlier, ms since 1970. */
  toMs?: number | undefined;
  /** In the id, the name, the metadata, or the beginning of the latest message and result. */
  text?: string | undefined;
  /** A field of the metadata and its value, as text. */
  field?: { name: string; value: string } | undefined;
}

/** A page of threads, most recently used first. `cursor`: of a page after this thread. `nextCursor`: null at the end. */
export interface ThreadPage {
  threads: { ownId: string; thread: Thread; cursor: string }[];
  nextCursor: string | null;
}

/** Threads that are checked one by one for one page. */
const maxScanned = 1_000;
/** Threads that one script checks: a longer one would block Redis for others. */
const atOnce = 100;
const indexedAtOnce = 500;

const cursorPattern = /^(\d{1,16})_([A-Za-z0-9._:-]{1,128})$/;

/** Reads pages of threads. Throws `invalid_request` for a cursor of another form, and `unavailable`. */
export type ListThreads = (tenant: string, query: ThreadQuery) => Promise<ThreadPage>;

/** An entry of a list: a thread and when it was used, ms since 1970. */
interface Entry {
  ownId: string;
  at: number;
}

/** Whether the list that is read has the wanted threads and no others. */
const isExact = ({ state, agent, skill, text, field }: ThreadQuery) =>
  text === undefined &&
  field === undefined &&
  [state, agent, skill].filter((value) => value !== undefined).length <= 1;

const cursorAt = ({ at, ownId }: Entry) => `${at}_${ownId}`;

/** Creates the reader of lists. */
export function createThreadList(deps: { redis: Redis; keys: Keys; scripts: Scripts }): ListThreads {
  const { redis, keys, scripts } = deps;
  const ensureIndexed = createIndexing(deps);

  /** The shortest of the lists that have every wanted thread. */
  const sourceOf = async (tenant: string, { state, agent, skill }: ThreadQuery): Promise<string> => {
    const names = Object.entries({ state, agent, skill }).flatMap(([field, value]) =>
      value === undefined ? [] : [`${tenant}:${field}:${value}`],
    );
    const [only, other] = names.map((name) => keys.of('thx', name));
    if (only === undefined) return keys.of('ths', tenant);
    await ensureIndexed(tenant);
    if (other === undefined) return only;
    const sources = names.map((name) => keys.of('thx', name));
    const sizes = await Promise.all(sources.map((source) => reached(redis.zcard(source))));
    return sources[sizes.indexOf(Math.min(...sizes))] as string;
  };

  /** The rank in a list at which a page begins. */
  const rankOf = async (source: string, { cursor, toMs, offset = 0 }: ThreadQuery): Promise<number> => {
    if (cursor === undefined)
      return (toMs === undefined ? 0 : await reached(redis.zcount(source, `(${toMs}`, '+inf'))) + offset;
    const [, at, ownId] = cursorPattern.exec(cursor) ?? [];
    if (at === undefined || ownId === undefined)
      throw new AppError(
        'invalid_request',
        'The cursor is not one of a previous page: leave it out to begin.',
      );
    const [score, rank] = await Promise.all([
      reached(redis.zscore(source, ownId)),
      reached(redis.zrevrank(source, ownId)),
    ]);
    if (score === at && rank !== null) return rank + 1;
    // Used since: the page begins where the thread was. Threads of one millisecond are in the order of their ids.
    const [later, sameTime] = await Promise.all([
      reached(redis.zcount(source, `(${at}`, '+inf')),
      reached(redis.zrangebyscore(source, at, at)),
    ]);
    return later + sameTime.filter((other) => other > ownId).length;
  };

  const entriesOf = async (source: string, from: number, count: number): Promise<Entry[]> => {
    const flat = await reached(redis.zrevrange(source, from, from + count - 1, 'WITHSCORES'));
    return Array.from({ length: flat.length / 2 }, (_, i) => ({
      ownId: flat[2 * i] as string,
      at: Number(flat[2 * i + 1]),
    }));
  };

  const matching = async (entries: readonly Entry[], { text, field }: ThreadQuery): Promise<string[]> => {
    const threadIds = entries.map(({ ownId }) => ownId);
    if ((text === undefined && field === undefined) || threadIds.length === 0) return threadIds;
    const found = await scripts.call<{ threadIds?: string[] }>(lua['match-threads'], {
      threadIds,
      text,
      field,
    });
    return listOf(found.threadIds);
  };

  const readThreads = async (tenant: string, ownIds: readonly string[], query: ThreadQuery) => {
    const { state, agent, skill } = query;
    const found = await Promise.all(
      ownIds.map(async (ownId) => {
        const hash: Hash = await reached(redis.hgetall(keys.of('th', ownId)));
        return { ownId, tenant: hash.tenant, thread: threadOf(ownId, hash) };
      }),
    );
    return found.filter(
      (one) =>
        one.tenant === tenant &&
        (state === undefined || one.thread.state === state) &&
        (agent === undefined || one.thread.agent === agent) &&
        (skill === undefined || one.thread.skill === skill),
    );
  };

  return async (tenant, query) => {
    const { limit, fromMs = 0 } = query;
    const source = await sourceOf(tenant, query);
    const threads: ThreadPage['threads'] = [];
    let rank = await rankOf(source, query);
    let scanned = 0;
    let last: Entry | undefined;
    while (threads.length < limit && scanned < maxScanned) {
      const wanted = isExact(query) ? limit - threads.length : atOnce;
      const count = Math.min(wanted, maxScanned - scanned);
      const entries = await entriesOf(source, rank, count);
      const inTime = entries.filter(({ at }) => at >= fromMs);
      const places = new Map(inTime.map((entry) => [entry.ownId, entry]));
      for (const { ownId, thread } of await readThreads(tenant, await matching(inTime, query), query)) {
        last = places.get(ownId) as Entry;
        threads.push({ ownId, thread, cursor: cursorAt(last) });
        if (threads.length === limit) return { threads, nextCursor: cursorAt(last) };
      }
      if (inTime.length < count) return { threads, nextCursor: null };
      rank += count;
      scanned += count;
      last = entries.at(-1);
    }
    return { threads, nextCursor: last ? cursorAt(last) : null };
  };
}

/** Indexes a tenant's threads of earlier releases, once: before the first list that needs an index. */
function createIndexing({ redis, keys, scripts }: { redis: Redis; keys: Keys; scripts: Scripts }) {
  const known = new Set<string>();
  return async (tenant: string): Promise<void> => {
    if (known.has(tenant)) return;
    const marker = keys.of('thx', tenant);
    if ((await reached(redis.exists(marker))) === 0) {
      let cursor = '0';
      do {
        const [next, flat] = await reached(
          redis.zscan(keys.of('ths', tenant), cursor, 'COUNT', indexedAtOnce),
        );
        const threadIds = flat.filter((_, i) => i % 2 === 0);
        if (threadIds.length > 0) await scripts.call(lua['index-threads'], { tenant, threadIds });
        cursor = next;
      } while (cursor !== '0');
      await reached(redis.set(marker, '1'));
    }
    known.add(tenant);
  };
}
