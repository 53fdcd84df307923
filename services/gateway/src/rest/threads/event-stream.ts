import type { ServerResponse } from 'node:http';
import type { ThreadEvent } from '@harness/contracts';
import type { Subscriber } from '@harness/dispatch';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { onGone } from '../../http/client-disconnect.ts';
import { createPlaces } from '../../http/stream-slots.ts';

/** A comment this often keeps proxies from closing a quiet stream, ms. */
const heartbeatMs = 10_000;
/** Unsent bytes beyond which nothing more is written; a reader that does not take them in time is cut, and resumes. */
const maxUnsentBytes = 256 * 1024;
const slowReaderMs = 5_000;
const maxStreams = 2_000;
const maxOfKey = 500;

export interface EventStreams {
  /** Sends events as SSE until they end or the client leaves. Throws before anything is sent when the first one fails. */
  send(
    request: FastifyRequest,
    reply: FastifyReply,
    subscribe: (subscriber: Subscriber) => Promise<() => void>,
  ): Promise<void>;
  /** Aborted by `close()`: whatever else waits for events ends, too. */
  closing: AbortSignal;
  /** Ends every open stream: an open one would keep the server from closing. */
  close(): void;
}

/** `maxStreamsPerKey`: open at one time. */
export function createEventStreams({ maxStreamsPerKey = maxOfKey } = {}): EventStreams {
  const open = new Set<ServerResponse>();
  const places = createPlaces({ most: maxStreams, mostOfKey: maxStreamsPerKey });
  const closing = new AbortController();
  const frameOf = createFrames();
  // One timer for all: a thousand idle streams are to cost little.
  const heartbeat = setInterval(() => {
    for (const raw of open) if (raw.headersSent && !raw.writableEnded) raw.write(':\n\n');
  }, heartbeatMs);
  heartbeat.unref();

  return {
    closing: closing.signal,
    async send(request, reply, subscribe) {
      const { raw } = reply;
      const giveBack = places.take(request.caller.principal);
      const exit = () => {
        open.delete(raw);
        giveBack();
      };
      open.add(raw);
      try {
        await begin(reply, subscribe, { frameOf, onEnd: exit });
        // It may have left already, or the gateway be closing: neither would be told again.
        if (closing.signal.aborted) raw.end();
      } catch (error) {
        exit();
        throw error;
      }
    },
    close() {
      clearInterval(heartbeat);
      closing.abort();
      for (const raw of open) {
        if (raw.writableLength > maxUnsentBytes) raw.destroy();
        else if (raw.headersSent) raw.end();
      }
    },
  };
}

/** Resolves with the first event, or when the client has left. From then on, the stream runs by what is pushed to it. */
async function begin(
  reply: FastifyReply,
  subscribe: (subscriber: Subscriber) => Promise<() => void>,
  { frameOf, onEnd }: { frameOf: (events: readonly ThreadEvent[]) => Buffer; onEnd: () => void },
): Promise<void> {
  const { raw } = reply;
  const begun = Promise.withResolvers<void>();
  let leave: (() => void) | undefined;
  let left = false;
  onGone(raw, () => {
    left = true;
    leave?.();
    onEnd();
    begun.resolve();
  });
  raw.on('error', ignore);
  const subscriber: Subscriber = {
    take(events) {
      if (raw.writableEnded || raw.destroyed) return undefined;
      if (!raw.headersSent) sendHead(reply);
      begun.resolve();
      raw.write(frameOf(events));
      return raw.writableLength > maxUnsentBytes ? drained(raw) : undefined;
    },
    end(error) {
      if (error && !raw.headersSent) return begun.reject(error);
      if (!raw.headersSent && !raw.destroyed) sendHead(reply); // over before its first event
      raw.end(); // where Redis went away in mid-stream, the client comes back with its last event id
    },
  };
  try {
    leave = await subscribe(subscriber);
    if (left) leave();
    await begun.promise;
  } catch (error) {
    leave?.();
    throw error;
  }
}

/** Its `close` follows, and does what is to do. */
const ignore = () => undefined;

function sendHead(reply: FastifyReply): void {
  reply.hijack();
  reply.raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  reply.raw.flushHeaders();
}

/** Resolves when a reader with much unsent has taken it, or left; one that does not take it within the limit is cut. */
function drained(raw: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => raw.destroy(), slowReaderMs);
    const end = () => {
      clearTimeout(late);
      raw.off('drain', end).off('close', end);
      resolve();
    };
    raw.once('drain', end).once('close', end);
  });
}

/** A batch that goes to many subscribers is made into bytes once. */
function createFrames(): (events: readonly ThreadEvent[]) => Buffer {
  const made = new WeakMap<readonly ThreadEvent[], Buffer>();
  return (events) => {
    const found = made.get(events) ?? Buffer.from(events.map(textOf).join(''));
    made.set(events, found);
    return found;
  };
}

function textOf({ id, type, data }: ThreadEvent): string {
  return `${id === null ? '' : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}
