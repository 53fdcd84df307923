import type { ThreadEvent } from '@harness/contracts';
import { createParser } from 'eventsource-parser';

export interface ReadOptions {
  headers?: Record<string, string>;
  /** Stops reading after the first event for which it is true; without it, at the end of the stream. */
  until?: (event: ThreadEvent) => boolean;
}

/** Reads an SSE stream as a client would. */
export async function readEvents(
  url: string,
  { headers = {}, until }: ReadOptions = {},
): Promise<ThreadEvent[]> {
  const leave = new AbortController();
  const response = await fetch(url, { headers, signal: leave.signal });
  if (!response.ok || !response.body) throw new Error(`${response.status}: ${await response.text()}`);
  const seen: ThreadEvent[] = [];
  let enough = false;
  const parser = createParser({
    onEvent({ id, event, data }) {
      if (enough) return;
      const parsed = { id: id ?? null, type: event as ThreadEvent['type'], data: JSON.parse(data) };
      seen.push(parsed);
      enough = until?.(parsed) ?? false;
    },
  });
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    parser.feed(chunk);
    if (enough) break;
  }
  leave.abort();
  return seen;
}
