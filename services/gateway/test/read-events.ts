import type { ThreadEvent } from '@harness/contracts';
import { readEventStream } from '@harness/runtime';

export interface ReadOptions {
  headers?: Record<string, string>;
  /** Stops reading after the first event for which it is true; default: at the end of the stream. */
  until?: (event: ThreadEvent) => boolean;
}

/** Reads an SSE stream as a client would. */
export async function readEvents(
  url: string,
  { headers = {}, until }: ReadOptions = {},
): Promise<ThreadEvent[]> {
  const seen: ThreadEvent[] = [];
  for await (const event of readEventStream(url, { headers })) {
    seen.push(event);
    if (until?.(event)) break;
  }
  return seen;
}
