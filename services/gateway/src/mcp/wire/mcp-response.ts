/**
 * The answer to one request over HTTP: a single JSON body when the result comes first; a stream of server-sent events as
 * soon as anything else does, or when the result is long in coming and a proxy might think that nobody is there.
 */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { onGone } from '../../http/client-disconnect.ts';
import { createOutbox, type Outbox } from './batched-writes.ts';
import { createPatience, type Patience } from './response-timer.ts';

/** An object, or JSON that is spelt already, in pieces: a long one is not copied for each client. */
export type Message = object | readonly Buffer[];

export interface Answer {
  /** Something before the result. Throws, and sends nothing, where it is no JSON; so does `end`. */
  send(message: object): void;
  /** The result; nothing is sent after it. */
  end(message: Message, status?: number): void;
  /** Ends the stream without the result: the client comes back for it. Only with a log. */
  release(): void;
}

/** JSON alone, both, or server-sent events alone: then the result is one event. */
export type Accepted = 'json' | 'both' | 'events';

export const acceptedBy = ({ accept = '' }: IncomingHttpHeaders): Accepted => {
  if (accept.includes('*/*')) return 'both';
  if (!accept.includes('text/event-stream')) return 'json';
  return accept.includes('application/json') ? 'both' : 'events';
};

export interface AnswerOptions {
  response: ServerResponse;
  /** What the client takes. */
  accepts: Accepted;
  /** Keeps what is sent on a stream, so that a client may come back for it: gives each message its id. */
  log?: { open(): Promise<string>; append(message: object, last: boolean): Promise<string> } | undefined;
}

/** A result that takes longer than this is streamed, ms. */
const patienceMs = 5_000;
const keepAliveMs = 15_000;
/** How soon a client may come back, ms. */
const retryMs = 500;

/** Unsent bytes of a reader that is too slow: it is cut, and what it has of a log it may come back for. */
const maxUnsentBytes = 1024 * 1024;
/** Notifications of one request; further ones (of progress, mostly) are dropped. */
const maxNotices = 10_000;

const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
};

/** What the answers of one gateway have in common. */
export interface Answers {
  begin(options: AnswerOptions): Answer;
  close(): void;
}

export function createAnswers(): Answers {
  const patience = createPatience(patienceMs);
  const outbox = createOutbox();
  return {
    begin: (options) => createAnswer(options, { patience, outbox }),
    close: () => patience.close(),
  };
}

function createAnswer(
  { response, accepts, log }: AnswerOptions,
  { patience, outbox }: { patience: Patience; outbox: Outbox },
): Answer {
  let state: 'undecided' | 'streaming' | 'ended' = 'undecided';
  let keepAlive: NodeJS.Timeout | undefined;
  let notices = 0;
  /** What is sent waits for its place in the log. */
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
    patience.end(upgrade);
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
  if (accepts !== 'json') patience.begin(upgrade);
  onGone(response, () => {
    patience.end(upgrade);
    clearInterval(keepAlive);
  });

  return {
    send(message) {
      if (accepts === 'json' || state === 'ended') return;
      if (!('id' in message) && ++notices > maxNotices) return;
      const parts = partsOf(message);
      upgrade();
      push(message, parts, false);
    },
    end(message, status = 200) {
      if (state === 'ended') return;
      const body = partsOf(message);
      patience.end(upgrade);
      clearInterval(keepAlive);
      const streaming = state === 'streaming';
      state = 'ended';
      if (streaming) return push(message, body, true);
      const asEvent = accepts === 'events' && status === 200;
      const parts = asEvent ? eventOf(body) : body;
      // With its length a body in pieces is not chunked: Node would end a corked chunked one before its last pieces.
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

const isSpelt = (message: Message): message is readonly Buffer[] => Array.isArray(message);
type Parts = readonly (string | Buffer)[];
const partsOf = (message: Message): Parts => (isSpelt(message) ? message : [JSON.stringify(message)]);
/** What is one text stays one: it leaves with its head in a single write. */
const eventOf = (body: Parts): Parts =>
  body.length === 1 ? [`event: message\ndata: ${body[0]}\n\n`] : ['event: message\ndata: ', ...body, '\n\n'];
const objectOf = (message: Message): object =>
  isSpelt(message) ? (JSON.parse(message.join('')) as object) : message;
