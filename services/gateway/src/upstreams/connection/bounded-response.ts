import type { IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { AppError } from '@harness/contracts';
import type { LineBudget } from './line-budget.ts';

/** What the caller has asked for is too much; the upstream has answered, so this counts for no breaker. */
const tooLarge = (maxBytes: number) =>
  new AppError('tool_failed', `The response has more than ${maxBytes} bytes. Ask for less.`);

/** Messages in one response of JSON. */
const maxBatch = 100;
/** Lines of a stream that its reader is given at once: in between, the event loop serves all others. */
const maxLinesAtOnce = 200;

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

  /** Rejects what is no JSON, and a batch of JSON-RPC that is handled in one go and larger than any that works. */
  async json(): Promise<unknown> {
    const parsed: unknown = JSON.parse(this.#body.toString('utf8'));
    if (!Array.isArray(parsed) || parsed.length <= maxBatch) return parsed;
    throw new AppError(
      'tool_failed',
      `The response is a batch of ${parsed.length} messages; at most ${maxBatch} are read.`,
    );
  }
}

const headersOf = ({ headers }: IncomingMessage): Headers =>
  new Headers(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value] as [string, string]] : [],
    ),
  );

/** Limits of a stream. */
export interface StreamLimits {
  /** Of one event; of a response that is no stream, all of it. */
  maxBytes: number;
  /** Of a stream, that were asked for. */
  askedBytes: number;
  /** Counts lines, and bytes that were not asked for. */
  budget: Pick<LineBudget, 'spend' | 'idle'>;
}

/** A response whose body is read as it comes. */
export function streamOf(
  response: IncomingMessage,
  { maxBytes, askedBytes, budget }: StreamLimits,
): Response {
  let bytes = 0;
  const meter = createEventMeter();
  // What was buffered still arrives after the reader has gone, and a closed stream takes no more.
  let isOpen = true;
  const finish = (end: () => void) => {
    if (isOpen) end();
    isOpen = false;
  };
  let isParting = false;
  const enqueueInParts = async (chunk: Buffer, controller: ReadableStreamDefaultController<Uint8Array>) => {
    isParting = true;
    response.pause();
    for (const part of partsOf(chunk)) {
      if (!isOpen) return;
      controller.enqueue(part);
      await setImmediate();
    }
    isParting = false;
    if (response.readableLength === 0) budget.idle();
    if ((controller.desiredSize ?? 0) > 0) response.resume();
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      response.on('data', (chunk: Buffer) => {
        if (!isOpen) return;
        const lines = meter.count(chunk);
        if (meter.eventBytes > maxBytes) return void response.destroy(tooLarge(maxBytes));
        bytes += chunk.length;
        const unaskedBytes = Math.min(chunk.length, Math.max(0, bytes - askedBytes));
        if (!budget.spend(lines, unaskedBytes))
          return void response.destroy(new Error('The response is a flood.'));
        if (lines > maxLinesAtOnce) return void enqueueInParts(chunk, controller);
        controller.enqueue(chunk);
        if (response.readableLength === 0) budget.idle();
        if ((controller.desiredSize ?? 0) <= 0) response.pause();
      });
      response.once('end', () => finish(() => controller.close()));
      response.on('error', (error) => finish(() => controller.error(error)));
    },
    pull: () => {
      if (!isParting) response.resume();
    },
    cancel: () => finish(() => response.destroy()),
  });
  const { statusCode: status = 0, statusMessage: statusText = '' } = response;
  return new Response(body, { status, statusText, headers: headersOf(response) });
}

const [lf, cr] = [10, 13];

/** Cuts a chunk after every so many line ends. */
function* partsOf(chunk: Buffer): Generator<Buffer> {
  let [from, lines] = [0, 0];
  for (let at = 0; at < chunk.length; at++) {
    if (chunk[at] !== lf && chunk[at] !== cr) continue;
    if (++lines % maxLinesAtOnce !== 0) continue;
    yield chunk.subarray(from, at + 1);
    from = at + 1;
  }
  if (from < chunk.length) yield chunk.subarray(from);
}

/** Counts lines, and the bytes of the event that is not complete. An event ends with an empty line; lines end with CR, LF or CRLF. */
function createEventMeter() {
  let [event, line, last] = [0, 0, 0];
  const count = (chunk: Uint8Array): number => {
    let lines = 0;
    // Every byte passes here; an iterator would take twice as long.
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      event += 1;
      if (byte !== lf && byte !== cr) line += 1;
      else if (byte !== lf || last !== cr) {
        if (line === 0) event = 0;
        line = 0;
        lines += 1;
      }
      last = byte;
    }
    return lines;
  };
  return {
    /** The number of lines that end in a chunk. */
    count,
    get eventBytes() {
      return event;
    },
  };
}
