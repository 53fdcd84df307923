import type { FetchLike } from '@modelcontextprotocol/client';

/** Largest response, and largest event of a stream, bytes. */
const maxBytes = 16 * 1024 * 1024;

/**
 * A fetch that reaches only the origins that the operator's file names, whatever a server, a discovery document or a redirect
 * says, and that reads a bounded amount.
 */
export const createBoundedFetch =
  (origins: ReadonlySet<string>): FetchLike =>
  async (input, init) => {
    const url = new URL(input);
    if (!origins.has(url.origin))
      throw new Error(`${url.origin} is not named in the upstreams file, so it is not called`);
    const response = await fetch(url, {
      ...init,
      redirect: init?.redirect === 'manual' ? 'manual' : 'error',
    });
    if (!response.body) return response;
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    return new Response(response.body.pipeThrough(boundOf(isStream)), response);
  };

/** Counts the bytes of a response, or of each event of a stream, and fails the body beyond the limit. */
function boundOf(isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  const countEvent = createEventMeter();
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes = isStream ? countEvent(chunk) : bytes + chunk.length;
      if (bytes <= maxBytes) controller.enqueue(chunk);
      else controller.error(new Error(`The response has more than ${maxBytes} bytes. Ask for less.`));
    },
  });
}

const [lf, cr] = [10, 13];

/** Counts the bytes of the event that is not complete after a chunk. An event ends with an empty line; lines end with CR, LF or CRLF. */
function createEventMeter(): (chunk: Uint8Array) => number {
  let [event, line, last] = [0, 0, 0];
  return (chunk) => {
    // Every byte passes here; an iterator would take twice as long.
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      event += 1;
      if (byte !== lf && byte !== cr) line += 1;
      else if (byte !== lf || last !== cr) {
        if (line === 0) event = 0;
        line = 0;
      }
      last = byte;
    }
    return event;
  };
}
