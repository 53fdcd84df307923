/**
 * The messages of one client's stream, kept for a while so that the client can resume it at any gateway (MCP
 * 2025-11-25). Entries are JSON-RPC messages. The log ends with the response, or with an error written by a
 * gateway that finds the gateway running the call dead.
 */
import { jsonOf } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Replicas } from '../gateway/replicas.ts';
import type { Feed } from '../redis/feed.ts';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';

/** One logged message. */
export interface LoggedMessage {
  /** Position in the log; ascending. */
  id: string;
  message: object;
}

/** Logs of all streams. Every method throws `unavailable` when Redis does not answer. */
export interface StreamLog {
  /** Begins the log of one request; returns the position before its first message. */
  open(stream: string, requestId: string | number): Promise<string>;
  /** Appends a message; returns its position. `last`: no message follows. */
  append(stream: string, message: object, last: boolean): Promise<string>;
  /**
   * Messages after a position, logged and future, until the log ends; null for an unknown stream or an
   * invalid position.
   */
  follow(stream: string, after: string, signal: AbortSignal): Promise<AsyncIterable<LoggedMessage> | null>;
}

/** How long a log is kept after its end, ms. */
const endedTtlMs = 300_000;
/** How long a log is kept without new messages, ms: longer than any tool runs. */
const silentTtlMs = 3_600_000;
/** How often a follower checks whether the gateway that runs the call is alive, ms. */
const watchMs = 3_000;

/** Redis refuses positions whose parts have more than 64 bits. */
const positionPattern = /^\d{1,15}-\d{1,15}$/;

type Row = [id: string, fields: string[]];
interface Opening {
  requestId: string | number;
  replica: string;
}

/** `replicas` knows which gateways are alive. */
export function createStreamLog(deps: {
  redis: Redis;
  keys: Keys;
  feed: Feed;
  replicas: Replicas;
}): StreamLog {
  const { redis, keys, feed, replicas } = deps;
  const keyOf = (stream: string) => keys.of('mcplog', stream);
  const add = async (stream: string, field: 'open' | 'message' | 'last', value: object): Promise<string> => {
    const key = keyOf(stream);
    const ttlMs = field === 'last' ? endedTtlMs : silentTtlMs;
    const written = redis.multi().xadd(key, '*', field, jsonOf(value)).pexpire(key, ttlMs);
    const replies = await reached(written.publish(key, '').exec());
    return String(replies?.[0]?.[1]);
  };
  const rowsAfter = (stream: string, id: string) =>
    reached(redis.xrange(keyOf(stream), `(${id}`, '+')) as Promise<Row[]>;

  async function* messagesAfter(
    { stream, opening }: { stream: string; opening: Opening },
    after: string,
    signal: AbortSignal,
  ) {
    const news = await feed.listen([keyOf(stream)], signal);
    const watch = setInterval(() => {
      replicas
        .isAlive(opening.replica)
        .then(async (alive) => {
          if (!alive) await add(stream, 'last', lostOf(opening.requestId));
        })
        .catch(() => undefined); // checked again after watchMs
    }, watchMs);
    try {
      let position = after;
      const pending = async () => {
        const rows = await rowsAfter(stream, position);
        position = rows.at(-1)?.[0] ?? position;
        return rows;
      };
      let rows = await pending();
      const waiting = news[Symbol.asyncIterator]();
      for (;;) {
        for (const [id, [field, text]] of rows) {
          if (field === 'open') continue;
          yield { id, message: JSON.parse(text as string) as object };
          if (field === 'last') return;
        }
        if ((await waiting.next()).done) return;
        rows = await pending();
      }
    } finally {
      clearInterval(watch);
      news.close();
    }
  }

  return {
    open: (stream, requestId) => add(stream, 'open', { requestId, replica: replicas.id } satisfies Opening),
    append: (stream, message, last) => add(stream, last ? 'last' : 'message', message),
    async follow(stream, after, signal) {
      const [first] = (await reached(redis.xrange(keyOf(stream), '-', '+', 'COUNT', 1))) as Row[];
      if (!first || !positionPattern.test(after)) return null;
      const opening: Opening = JSON.parse(first[1][1] as string);
      return messagesAfter({ stream, opening }, after, signal);
    },
  };
}

const lostOf = (id: string | number) => ({
  jsonrpc: '2.0',
  id,
  error: {
    code: -32603,
    message:
      'The gateway that ran this call ended; whether the call took effect is unknown. Check before you repeat it.',
    data: { code: 'call_lost' },
  },
});
