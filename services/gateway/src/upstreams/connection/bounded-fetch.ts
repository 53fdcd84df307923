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

/** Counts the bytes of a response, or of one event of a stream, and fails the body beyond the limit. */
function boundOf(isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      // An event ends with an empty line; a large one begins to count anew with the chunk after its end.
      bytes = isStream && endsEvent(chunk) ? 0 : bytes + chunk.length;
      if (bytes <= maxBytes) controller.enqueue(chunk);
      else controller.error(new Error(`The response has more than ${maxBytes} bytes. Ask for less.`));
    },
  });
}

const [lf, cr] = [10, 13];
const endsEvent = (chunk: Uint8Array) => {
  const last = chunk.at(-1);
  return (last === lf || last === cr) && (chunk.at(-2) === lf || chunk.at(-2) === cr || chunk.length === 1);
};
