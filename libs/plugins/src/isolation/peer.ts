/**
 * Requests over a channel, in both directions. Each request gets one response, can be cancelled by its sender, and can
 * emit events to its sender until the response.
 */
import { AppError } from '@harness/contracts';
import type { Channel } from './channel.ts';
import { errorOf, type WireError, wireErrorOf } from './wire-error.ts';

interface Response {
  value?: unknown;
  error?: WireError;
}

type Message =
  | { request: number; method: string; args: unknown }
  | ({ answer: number } & Response)
  | { cancel: number; reason?: WireError }
  | { event: number; name: string; value: unknown };

/** A received request, while its handler runs. */
export interface Incoming {
  /** Aborts when the sender has cancelled the request. */
  signal: AbortSignal;
  emit(name: string, value: unknown): void;
}

/** Handles received requests; its result or error is the response. */
export type Handler = (method: string, args: unknown, incoming: Incoming) => Promise<unknown>;

/** Options of a request. */
export interface Asking {
  signal?: AbortSignal | undefined;
  onEvent?: ((name: string, value: unknown) => void) | undefined;
}

/** One side of a channel. */
export interface Peer {
  /** Sends a request. Rejects with the other side's error, the signal's reason, or the error that ended the channel. */
  ask(method: string, args: unknown, asking?: Asking): Promise<unknown>;
  /** Processes a received message; for the channel's `onMessage`. */
  hear(message: unknown): void;
  /** Fails all pending requests with this error, and refuses new ones. */
  end(error: Error): void;
}

interface Waiting {
  settle(response: Response): void;
  fail(error: unknown): void;
  onEvent: Asking['onEvent'];
}

/** Creates a peer. `channel` is a function, because channel and peer refer to each other. */
export function createPeer(channel: () => Channel, handle: Handler): Peer {
  const waiting = new Map<number, Waiting>();
  const answering = new Map<number, AbortController>();
  let last = 0;
  let ended: Error | undefined;

  /** Never rejects: errors are bounded, so that the second response can always be sent. */
  const answer = async (id: number, method: string, args: unknown) => {
    const abort = new AbortController();
    answering.set(id, abort);
    const emit = (name: string, value: unknown) => {
      if (answering.has(id)) channel().send({ event: id, name, value } satisfies Message);
    };
    const respond = (response: Response) => channel().send({ answer: id, ...response } satisfies Message);
    let response: Response;
    try {
      response = { value: await handle(method, args, { signal: abort.signal, emit }) };
    } catch (thrown) {
      response = { error: wireErrorOf(thrown) };
    }
    if (!answering.delete(id)) return;
    try {
      respond(response);
    } catch (thrown) {
      const message = `The result cannot be sent between processes: ${wireErrorOf(thrown).message}`;
      respond({ error: { code: 'tool_failed', message } });
    }
  };

  return {
    ask(method, args, { signal, onEvent } = {}) {
      if (ended) return Promise.reject(ended);
      if (signal?.aborted) return Promise.reject(signal.reason);
      const id = ++last;
      return new Promise((resolve, reject) => {
        const end = () => {
          waiting.delete(id);
          signal?.removeEventListener('abort', onAbort);
        };
        const fail = (error: unknown) => {
          end();
          reject(error);
        };
        const onAbort = () => {
          channel().send({ cancel: id, reason: wireErrorOf(signal?.reason) } satisfies Message);
          fail(signal?.reason);
        };
        const settle: Waiting['settle'] = ({ value, error }) => {
          const failure = error && errorOf(error); // may throw; then the end of the channel settles the request
          end();
          if (failure) reject(failure);
          else resolve(value);
        };
        waiting.set(id, { settle, fail, onEvent });
        signal?.addEventListener('abort', onAbort, { once: true });
        try {
          channel().send({ request: id, method, args } satisfies Message);
        } catch (thrown) {
          const message = `The arguments cannot be sent between processes: ${(thrown as Error).message}`;
          fail(new AppError('invalid_request', message, { cause: thrown }));
        }
      });
    },
    hear(heard) {
      const message = heard as Message;
      if ('request' in message) {
        if (typeof message.request !== 'number') throw new TypeError('The id of a request must be a number.');
        void answer(message.request, message.method, message.args);
      } else if ('answer' in message) waiting.get(message.answer)?.settle(message);
      else if ('cancel' in message) {
        const abort = answering.get(message.cancel);
        answering.delete(message.cancel);
        abort?.abort(message.reason && errorOf(message.reason));
      } else if ('event' in message) waiting.get(message.event)?.onEvent?.(message.name, message.value);
    },
    end(error) {
      ended = error;
      for (const { fail } of [...waiting.values()]) fail(error);
      for (const abort of answering.values()) abort.abort(error);
      answering.clear();
    },
  };
}
