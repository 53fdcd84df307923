import type { ServerResponse } from 'node:http';
import { AppError, type ThreadEvent } from '@harness/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A comment this often keeps proxies from closing a quiet stream, ms. */
const heartbeatMs = 10_000;
/** Unsent bytes beyond which nothing more is written; a reader that does not take them in time is cut, and resumes. */
const maxUnsentBytes = 256 * 1024;
const slowReaderMs = 5_000;
const maxStreams = 2_000;
const maxStreamsPerKey = 500;

export interface EventStreams {
  /** Sends events as SSE until they end or the client leaves. Throws before anything is sent when the first one fails. */
  send(
    request: FastifyRequest,
    reply: FastifyReply,
    open: (signal: AbortSignal) => AsyncGenerator<ThreadEvent>,
  ): Promise<void>;
  /** Aborted by `close()`: whatever else waits for events ends, too. */
  closing: AbortSignal;
  /** Ends every open stream: an open one would keep the server from closing. */
  close(): void;
}

export function createEventStreams(): EventStreams {
  const open = new Map<AbortController, string>();
  const closing = new AbortController();
  return {
    closing: closing.signal,
    async send(request, reply, openEvents) {
      const key = `${request.caller.principal.tenant}/${request.caller.principal.keyId}`;
      const own = [...open.values()].filter((other) => other === key).length;
      if (open.size >= maxStreams || own >= maxStreamsPerKey) {
        throw new AppError('too_many_streams', 'Too many event streams are open.');
      }
      const leave = new AbortController();
      open.set(leave, key);
      reply.raw.once('close', () => leave.abort());
      // It may have left already, or the gateway be closing: neither would be told again.
      if (reply.raw.destroyed || closing.signal.aborted) leave.abort();
      const events = openEvents(leave.signal);
      try {
        const first = await events.next();
        reply.hijack();
        await pipe(reply, first, events, leave);
      } finally {
        open.delete(leave);
        leave.abort();
        await events.return(undefined);
      }
    },
    close() {
      closing.abort();
      for (const leave of open.keys()) leave.abort();
    },
  };
}

async function pipe(
  { raw }: FastifyReply,
  first: IteratorResult<ThreadEvent>,
  events: AsyncGenerator<ThreadEvent>,
  leave: AbortController,
): Promise<void> {
  raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  raw.flushHeaders();
  raw.on('error', () => leave.abort());
  const heartbeat = setInterval(() => raw.write(':\n\n'), heartbeatMs);
  leave.signal.addEventListener('abort', () => raw.end(), { once: true });
  try {
    for (let next = first; !next.done && !leave.signal.aborted; next = await events.next()) {
      raw.write(frameOf(next.value));
      if (raw.writableLength > maxUnsentBytes && !(await drained(raw, leave.signal)))
        return void raw.destroy();
    }
  } catch {
    // Redis went away in mid-stream: the client comes back with its last event id.
  } finally {
    clearInterval(heartbeat);
    raw.end();
  }
}

/** Whether a reader with much unsent takes it within the limit; false when it does not, or leaves. */
function drained(raw: ServerResponse, left: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const late = setTimeout(() => resolve(false), slowReaderMs);
    const end = (taken: boolean) => {
      clearTimeout(late);
      resolve(taken);
    };
    raw.once('drain', () => end(true));
    left.addEventListener('abort', () => end(false), { once: true });
    if (left.aborted) end(false);
  });
}

export function frameOf({ id, type, data }: ThreadEvent): string {
  return `${id === null ? '' : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}
