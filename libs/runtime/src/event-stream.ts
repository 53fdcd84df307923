import type { ThreadEvent } from '@harness/contracts';
import { createParser } from 'eventsource-parser';

/**
 * Thread events of a gateway's SSE stream, as they come. Ends with the stream; leaving the loop closes the connection.
 * Throws with the gateway's answer when it is not a stream. To resume, send `last-event-id`.
 */
export async function* readEventStream(
  url: string,
  options: { headers?: Record<string, string>; signal?: AbortSignal } = {},
): AsyncGenerator<ThreadEvent> {
  const leave = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, leave.signal]) : leave.signal;
  const response = await fetch(url, { headers: options.headers ?? {}, signal });
  if (!response.ok || !response.body) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  const events: ThreadEvent[] = [];
  const parser = createParser({
    onEvent: ({ id, event, data }) =>
      events.push({ id: id ?? null, type: event as ThreadEvent['type'], data: JSON.parse(data) }),
  });
  try {
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      parser.feed(chunk);
      yield* events.splice(0);
    }
  } finally {
    leave.abort();
  }
}
