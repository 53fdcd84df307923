/**
 * Calls from one gateway to another, through Redis, which every gateway reaches in any network and whose access is already
 * protected. Calls are at-most-once: nothing is stored, and a call whose answer is lost fails.
 */
import { randomUUID } from 'node:crypto';
import { AppError, type ErrorCode, errorCodes, jsonOf, toAppError } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Replicas } from '../gateway/replicas.ts';
import type { Feed, Listener } from '../redis/feed.ts';
import type { Keys } from '../redis/keys.ts';
import type { Log } from '../redis/log.ts';
import { reached } from '../redis/reached.ts';

/** A call as its handler sees it. `note` sends something to the caller before the answer. */
export interface GatewayCall {
  question: unknown;
  /** Aborts when the caller cancels. */
  signal: AbortSignal;
  note(note: unknown): void;
}

/** Calls among gateways. Questions, notes and answers are JSON. */
export interface GatewayCalls {
  /** Answers calls of others from now on, one handler for each topic. Resolves when others can call. */
  serve(topic: string, handler: (call: GatewayCall) => Promise<unknown>): Promise<void>;
  /**
   * Asks another gateway. Rejects with its AppError; with `plugin_unavailable` when it is not there, dies meanwhile, or the answer
   * is lost; and with the reason of the signal.
   */
  ask(
    replica: string,
    call: { topic: string; question: unknown },
    hooks?: { signal?: AbortSignal | undefined; onNote?: ((note: unknown) => void) | undefined },
  ): Promise<unknown>;
  close(): void;
}

/** Largest message, characters; less than what makes Redis cut off a subscriber (32 MB). */
const maxChars = 16 * 1024 * 1024;
/** Calls of others in progress at one gateway. */
const maxServed = 5_000;
/** How often a caller checks whether the gateway that it asked is alive, ms. */
const checkMs = 2_000;

type Message =
  | { kind: 'ask'; id: string; from: string; topic: string; question: unknown }
  | { kind: 'cancel'; id: string }
  | { kind: 'note'; id: string; note: unknown }
  | { kind: 'answer'; id: string; answer: unknown }
  | { kind: 'error'; id: string; error: { code: string; message: string; details?: unknown } };

/** Sends a message to a gateway; resolves with the number of gateways that received it. */
type Send = (replica: string, message: Message) => Promise<number>;

/** Creates the calls of this gateway. */
export function createGatewayCalls(deps: {
  redis: Redis;
  feed: Feed;
  keys: Keys;
  replicas: Replicas;
  logger: Log;
}): GatewayCalls {
  const { redis, keys, replicas, logger } = deps;
  const ended = new AbortController();
  const channelOf = (replica: string) => keys.of('gwcall', replica);
  const send: Send = async (replica, message) => {
    const text = jsonOf(message);
    if (text.length > maxChars)
      throw new AppError(
        'tool_failed',
        `The call or its answer has ${text.length} characters; at most ${maxChars} pass between gateways. Ask for less at once.`,
      );
    return reached(redis.publish(channelOf(replica), text));
  };
  const callee = createCallee(send, logger);
  const caller = createCaller(send, replicas);
  const read = (text: string) => {
    if (text === '') return caller.loseAll('the connection to Redis was lost meanwhile');
    const message = JSON.parse(text) as Message;
    if (message.kind === 'ask') void callee.answer(message);
    else if (message.kind === 'cancel') callee.cancel(message.id);
    else caller.settle(message);
  };

  let listening: Promise<Listener> | undefined;
  const listen = () => {
    listening ??= deps.feed.listen([channelOf(replicas.id)], ended.signal).then((messages) => {
      void (async () => {
        for await (const text of messages) read(text);
      })().catch((error) =>
        logger.error(
          { err: error },
          'gateway calls: no more calls or answers are received; restart this gateway',
        ),
      );
      return messages;
    });
    listening.catch(() => {
      listening = undefined; // the next call tries again
    });
    return listening;
  };

  return {
    async serve(topic, handler) {
      callee.serve(topic, handler);
      await listen();
    },
    async ask(replica, question, options = {}) {
      options.signal?.throwIfAborted();
      await listen();
      return caller.ask(replica, question, options);
    },
    close: () => ended.abort(),
  };
}

/** Answers the calls of other gateways. */
function createCallee(send: Send, logger: Log) {
  const handlers = new Map<string, (call: GatewayCall) => Promise<unknown>>();
  const inProgress = new Map<string, AbortController>();
  return {
    serve: (topic: string, handler: (call: GatewayCall) => Promise<unknown>) =>
      void handlers.set(topic, handler),
    cancel: (id: string) =>
      inProgress.get(id)?.abort(new AppError('turn_cancelled', 'The call was cancelled.')),
    async answer({ id, from, topic, question }: Extract<Message, { kind: 'ask' }>) {
      const cancelled = new AbortController();
      const post = (message: Message) =>
        send(from, message).catch((error) =>
          logger.debug({ err: error, topic }, 'gateway call: not delivered'),
        );
      try {
        const handler = handlers.get(topic);
        if (!handler || inProgress.size >= maxServed)
          throw new AppError(
            'plugin_unavailable',
            `The gateway that was asked is still starting, or busy with ${maxServed} calls, its maximum. Try again later.`,
          );
        inProgress.set(id, cancelled);
        const allow = createNoteBudget();
        const note = (one: unknown) => {
          if (allow()) void post({ kind: 'note', id, note: one });
        };
        const result = await handler({ question, signal: cancelled.signal, note });
        await send(from, { kind: 'answer', id, answer: result });
      } catch (thrown) {
        await post({ kind: 'error', id, error: toAppError(thrown).toBody() });
      } finally {
        inProgress.delete(id);
      }
    },
  };
}

type Settling = Extract<Message, { kind: 'note' | 'answer' | 'error' }>;

/** A call of this gateway that waits for its answer. */
interface Waiting {
  settle(message: Settling): void;
  lose(why: string): void;
}

/** Calls other gateways, and waits for their answers. */
function createCaller(send: Send, replicas: Replicas) {
  const waiting = new Map<string, Waiting>();
  return {
    settle: (message: Settling) => waiting.get(message.id)?.settle(message),
    loseAll(why: string) {
      for (const { lose } of waiting.values()) lose(why);
    },
    ask: (async (replica, { topic, question }, { signal, onNote } = {}) => {
      const id = randomUUID();
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const lost = (why: string) =>
        reject(
          new AppError('plugin_unavailable', `The gateway that is connected to it did not answer: ${why}.`),
        );
      const onAbort = () => {
        send(replica, { kind: 'cancel', id }).catch(() => undefined);
        reject(signal?.reason);
      };
      waiting.set(id, {
        settle(message) {
          if (message.kind === 'note') onNote?.(message.note);
          else if (message.kind === 'answer') resolve(message.answer);
          else reject(errorOf(message.error));
        },
        lose: (why) => lost(`${why}; whether the call was made is unknown`),
      });
      const check = setInterval(() => {
        replicas.isAlive(replica).then(
          (isAlive) => isAlive || lost('it has died; whether the call was made is unknown'),
          () => undefined,
        );
      }, checkMs);
      signal?.addEventListener('abort', onAbort, { once: true });
      try {
        const receivers = await send(replica, { kind: 'ask', id, from: replicas.id, topic, question });
        if (receivers === 0) lost('it is not there; the call was not made');
        return await promise;
      } finally {
        clearInterval(check);
        waiting.delete(id);
        signal?.removeEventListener('abort', onAbort);
        promise.catch(() => undefined);
      }
    }) satisfies GatewayCalls['ask'],
  };
}

/** Notes of one call in a second that are sent: a flood of progress must not fill the channel of all calls. */
const maxNotesPerSecond = 50;
function createNoteBudget(): () => boolean {
  let [since, count] = [performance.now(), 0];
  return () => {
    const now = performance.now();
    if (now - since >= 1_000) [since, count] = [now, 0];
    return ++count <= maxNotesPerSecond;
  };
}

function errorOf({ code, message, details }: { code: string; message: string; details?: unknown }): AppError {
  const known = errorCodes.includes(code as ErrorCode) ? (code as ErrorCode) : 'internal';
  return new AppError(known, message, { details });
}
