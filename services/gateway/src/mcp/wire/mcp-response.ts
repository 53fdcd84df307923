/**
 * The HTTP response to one MCP request: a JSON body if the result comes first; an SSE stream as soon as a
 * notification or a request to the client comes first, or after 5 s, so that no proxy times out.
 */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { onDisconnect } from '../../http/client-disconnect.ts';
import { type BatchedWrites, createBatchedWrites } from './batched-writes.ts';
import { createPatience, type Patience } from './patience.ts';

/** An object, or serialized JSON in pieces: a long list is not copied for each client. */
export type Message = object | readonly Buffer[];

/** The response to one request. */
export interface McpResponse {
  /**
   * Sends a message before the result. Throws, and sends nothing, if it cannot be serialized; `end` does the
   * same.
   */
  send(message: object): void;
  /** Sends the result and ends the response. */
  end(message: Message, status?: number): void;
  /** Closes the stream before the result, which the client fetches by resuming. A no-op without a log. */
  release(): void;
}

/** What the client accepts: JSON only, JSON and SSE, or SSE only (then the result is one event). */
export type Accepted = 'json' | 'both' | 'events';

/** Reads the Accept header. */
export const acceptedBy = ({ accept = '' }: IncomingHttpHeaders): Accepted => {
  if (accept.includes('*/*')) return 'both';
  if (!accept.includes('text/event-stream')) return 'json';
  return accept.includes('application/json') ? 'both' : 'events';
};

/** How to respond to one request. */
export interface McpResponseOptions {
  response: ServerResponse;
  accepts: Accepted;
  /** Stores what is sent on the stream and returns event ids, so that the client can resume. */
  log?: { open(): Promise<string>; append(message: object, last: boolean): Promise<string> } | undefined;
}

/** A response without a result after this time becomes a stream, ms. */
const patienceMs = 5_000;
const keepAliveMs = 15_000;
/** Delay before a client reconnects (SSE `retry`), ms. */
const retryMs = 500;

/** A client with more unsent bytes is disconnected; with a log it can resume. */
const maxUnsentBytes = 1024 * 1024;
/** Most notifications of one request, and characters of their JSON; further ones are dropped. */
const maxNotices = 10_000;
const maxNoticeChars = 4 * 1024 * 1024;

const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
};

/** Creates responses, which share one batch of writes. */
export interface McpResponses {
  begin(options: McpResponseOptions): McpResponse;
}

/** Creates the responses of one gateway. */
export function createMcpResponses(): McpResponses {
  const shared = { outbox: createBatchedWrites(), patience: createPatience(patienceMs) };
  return { begin: (options) => createAnswer(options, shared) };
}

function createAnswer(
  { response, accepts, log }: McpResponseOptions,
  { outbox, patience }: { outbox: BatchedWrites; patience: Patience },
): McpResponse {
  let state: 'undecided' | 'streaming' | 'ended' = 'undecided';
  let keepAlive: NodeJS.Timeout | undefined;
  const notices = { count: 0, chars: 0 };
  /** Writes are sequential: each waits for its event id from the log. */
  let writing: Promise<unknown> = Promise.resolve();

  const write = (text: string) => {
    if (response.writableEnded || response.destroyed) return;
    if (response.writableLength > maxUnsentBytes) response.destroy();
    else response.write(text);
  };
  const inTurn = (step: () => Promise<void>) => {
    writing = writing.then(step).catch(() => void response.destroy());
  };
  const upgrade = () => {
    if (state !== 'undecided') return;
    state = 'streaming';
    endPatience();
    keepAlive = setInterval(() => write(':\n\n'), keepAliveMs).unref();
    response.writeHead(200, streamHeaders);
    response.flushHeaders();
    if (log) inTurn(async () => write(`id: ${await log.open()}\nretry: ${retryMs}\ndata:\n\n`));
  };
  const push = (message: Message, parts: Parts, last: boolean) =>
    inTurn(async () => {
      const id = log ? `id: ${await log.append(objectOf(message), last)}\n` : '';
      write(`event: message\n${id}data: ${parts.join('')}\n\n`);
      if (last && !response.writableEnded) response.end();
    });
  const endPatience = accepts === 'json' ? () => undefined : patience.begin(upgrade);
  onDisconnect(response, () => {
    endPatience();
    clearInterval(keepAlive);
  });

  return {
    send(message) {
      if (accepts === 'json' || state === 'ended') return;
      const parts = partsOf(message);
      if (!('id' in message)) {
        notices.count++;
        notices.chars += parts.reduce((sum, part) => sum + part.length, 0);
        if (notices.count > maxNotices || notices.chars > maxNoticeChars) return;
      }
      upgrade();
      push(message, parts, false);
    },
    end(message, status = 200) {
      if (state === 'ended') return;
      const body = partsOf(message);
      endPatience();
      clearInterval(keepAlive);
      const streaming = state === 'streaming';
      state = 'ended';
      if (streaming) return push(message, body, true);
      const asEvent = accepts === 'events' && status === 200;
      const parts = asEvent ? eventOf(body) : body;
      // The length prevents chunked encoding: Node would end a corked chunked body before its last pieces.
      response.writeHead(status, {
        'content-type': asEvent ? 'text/event-stream' : 'application/json',
        'content-length': parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0),
      });
      outbox.post(response, parts);
    },
    release() {
      if (!log || state === 'ended') return;
      upgrade();
      inTurn(async () => void response.end());
    },
  };
}

const isSerialized = (message: Message): message is readonly Buffer[] => Array.isArray(message);
type Parts = readonly (string | Buffer)[];
const partsOf = (message: Message): Parts => (isSerialized(message) ? message : [JSON.stringify(message)]);
/** Keeps a single text in one piece, which Node sends together with the head in one write. */
const eventOf = (body: Parts): Parts =>
  body.length === 1 ? [`event: message\ndata: ${body[0]}\n\n`] : ['event: message\ndata: ', ...body, '\n\n'];
const objectOf = (message: Message): object =>
  isSerialized(message) ? (JSON.parse(message.join('')) as object) : message;
