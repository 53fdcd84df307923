import type { ServerResponse } from 'node:http';
import type { ThreadEvent } from '@harness/contracts';
import type { Subscriber } from '@harness/dispatch';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { onDisconnect } from '../../http/client-disconnect.ts';
import type { Slots } from '../../limits/slots.ts';

/** Interval of SSE comments, ms: they keep proxies from closing a quiet stream. */
const heartbeatMs = 10_000;
/**
 * With more unsent bytes the gateway stops writing; a client that does not read them within `slowReaderMs` is
 * disconnected, and can resume.
 */
const maxUnsentBytes = 256 * 1024;
const slowReaderMs = 5_000;

/** The SSE streams of one gateway. */
export interface EventStreams {
  /**
   * Sends events as SSE until they end or the client disconnects. Throws `too_many_streams`, and what the
   * subscription throws before the first event.
   */
  send(
    request: FastifyRequest,
    reply: FastifyReply,
    subscribe: (subscriber: Subscriber) => Promise<() => void>,
  ): Promise<void>;
  /** Aborted by `close()`; ends other waits for events. */
  closing: AbortSignal;
  /** Ends all streams, which would keep the server from closing. */
  close(): void;
}

/** `slots`: those for the streams of tenants and keys; `too_many_streams` beyond them. */
export function createEventStreams({ slots }: { slots: Slots }): EventStreams {
  const open = new Set<ServerResponse>();
  const closing = new AbortController();
  const frameOf = createFrames();
  // One timer for all streams, so that a thousand idle ones cost little.
  const heartbeat = setInterval(() => {
    for (const raw of open) if (raw.headersSent && !raw.writableEnded) raw.write(':\n\n');
  }, heartbeatMs);
  heartbeat.unref();

  return {
    closing: closing.signal,
    async send(request, reply, subscribe) {
      const { raw } = reply;
      const giveBack = slots.take(request.caller.principal);
      const exit = () => {
        open.delete(raw);
        giveBack();
      };
      open.add(raw);
      try {
        await begin(reply, subscribe, { frameOf, onEnd: exit });
        // `close` ended only the streams whose head had been sent.
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

/**
 * Subscribes; resolves with the first event or when the client has disconnected. Later events are pushed by
 * the subscription.
 */
async function begin(
  reply: FastifyReply,
  subscribe: (subscriber: Subscriber) => Promise<() => void>,
  { frameOf, onEnd }: { frameOf: (events: readonly ThreadEvent[]) => Buffer; onEnd: () => void },
): Promise<void> {
  const { raw } = reply;
  const begun = Promise.withResolvers<void>();
  let leave: (() => void) | undefined;
  let left = false;
  onDisconnect(raw, () => {
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
      if (!raw.headersSent && !raw.destroyed) sendHead(reply); // ended before its first event
      raw.end(); // if Redis failed in mid-stream, the client resumes with its last event id
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

/** The `close` event follows and cleans up. */
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

/**
 * Resolves when a slow client has read the unsent bytes or has disconnected; disconnects it after
 * `slowReaderMs`.
 */
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

/** Serializes a batch of events once for all its subscribers. */
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
