import type { ThreadEvent } from '@harness/contracts';
import { createParser } from 'eventsource-parser';

/** The gateway refused the stream; `status` is its HTTP status. */
export class GatewayRefusal extends Error {
  override name = 'GatewayRefusal';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** How to open a stream, and when to close a silent one. */
export interface EventStreamOptions {
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /**
   * A connection that receives nothing for this long, not even a comment, is closed with an error, ms.
   * Default: never.
   */
  silenceMs?: number;
}

/**
 * Yields the thread events of a gateway's SSE stream until it ends; leaving the loop closes the connection.
 * Throws GatewayRefusal, with the gateway's response, when it is not a stream. To resume, send the header
 * `last-event-id`.
 */
export async function* readEventStream(
  url: string,
  options: EventStreamOptions = {},
): AsyncGenerator<ThreadEvent> {
  const leave = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, leave.signal]) : leave.signal;
  const quiet = startClock(options.silenceMs, () =>
    leave.abort(new Error('the gateway has stopped sending')),
  );
  const events: ThreadEvent[] = [];
  const parser = createParser({
    onEvent: ({ id, event, data }) =>
      events.push({ id: id ?? null, type: event as ThreadEvent['type'], data: JSON.parse(data) }),
  });
  try {
    const response = await fetch(url, { headers: options.headers ?? {}, signal });
    if (!response.ok || !response.body)
      throw new GatewayRefusal(response.status, `${url}: ${response.status} ${await response.text()}`);
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      quiet.restart();
      parser.feed(chunk);
      yield* events.splice(0);
    }
  } finally {
    quiet.stop();
    leave.abort();
  }
}

function startClock(ms: number | undefined, ring: () => void) {
  if (ms === undefined) return { restart: () => undefined, stop: () => undefined };
  const timer = setTimeout(ring, ms);
  return { restart: () => void timer.refresh(), stop: () => clearTimeout(timer) };
}
