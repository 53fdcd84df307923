import type { IncomingMessage } from 'node:http';

const tooLarge = (maxBytes: number) =>
  new Error(`The response has more than ${maxBytes} bytes. Ask for less.`);

/** Statuses that have no body. */
const bodiless = new Set([101, 204, 205, 304]);

/** Reads a whole response. Rejects when it is too large, or is cut off. */
export async function readWhole(
  response: IncomingMessage,
  { url, maxBytes }: { url: string; maxBytes: number },
): Promise<Response> {
  const body = await bytesOf(response, maxBytes);
  const { statusCode = 0, statusMessage = '' } = response;
  if (statusCode === 200) return new WholeResponse(response, { body, url }) as unknown as Response;
  return new Response(bodiless.has(statusCode) ? null : body, {
    status: statusCode,
    statusText: statusMessage,
    headers: headersOf(response),
  });
}

function bytesOf(response: IncomingMessage, maxBytes: number): Promise<Buffer<ArrayBuffer>> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer<ArrayBuffer>>();
  const chunks: Buffer<ArrayBuffer>[] = [];
  let bytes = 0;
  response.on('data', (chunk: Buffer<ArrayBuffer>) => {
    bytes += chunk.length;
    if (bytes > maxBytes) response.destroy(tooLarge(maxBytes));
    else chunks.push(chunk);
  });
  response.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
  response.on('error', reject);
  return promise;
}

/**
 * What is read of a successful response, which nearly all are: a real one makes a stream of the bytes that are already here, at
 * more CPU than everything else of a call.
 */
class WholeResponse {
  readonly ok = true;
  readonly status = 200;
  readonly statusText: string;
  readonly headers: Headers;
  readonly url: string;
  readonly type = 'basic';
  readonly #body: Buffer<ArrayBuffer>;

  constructor(response: IncomingMessage, { body, url }: { body: Buffer<ArrayBuffer>; url: string }) {
    this.statusText = response.statusMessage ?? '';
    this.headers = headersOf(response);
    this.url = url;
    this.#body = body;
  }

  /** The body as a stream, made when it is read. */
  get body(): ReadableStream<Uint8Array> | null {
    return new Response(this.#body).body;
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return new Uint8Array(this.#body).buffer;
  }

  async text(): Promise<string> {
    return this.#body.toString('utf8');
  }

  async json(): Promise<unknown> {
    return JSON.parse(this.#body.toString('utf8'));
  }
}

const headersOf = ({ headers }: IncomingMessage): Headers =>
  new Headers(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value] as [string, string]] : [],
    ),
  );

/** A response whose body is read as it comes, with a limit for each event, bytes. */
export function streamOf(response: IncomingMessage, maxBytes: number): Response {
  const countEvent = createEventMeter();
  // What was buffered still arrives after the reader has gone, and a closed stream takes no more.
  let isOpen = true;
  const finish = (end: () => void) => {
    if (isOpen) end();
    isOpen = false;
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      response.on('data', (chunk: Buffer) => {
        if (!isOpen) return;
        if (countEvent(chunk) > maxBytes) return void response.destroy(tooLarge(maxBytes));
        controller.enqueue(chunk);
        if ((controller.desiredSize ?? 0) <= 0) response.pause();
      });
      response.once('end', () => finish(() => controller.close()));
      response.on('error', (error) => finish(() => controller.error(error)));
    },
    pull: () => void response.resume(),
    cancel: () => finish(() => response.destroy()),
  });
  const { statusCode: status = 0, statusMessage: statusText = '' } = response;
  return new Response(body, { status, statusText, headers: headersOf(response) });
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
