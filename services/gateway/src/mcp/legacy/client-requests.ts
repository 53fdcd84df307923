import { randomUUID } from 'node:crypto';
import { AppError } from '@harness/contracts';
import type { Replicas } from '@harness/dispatch';
import type { InputRequest } from '@harness/plugin-kit';
import type { Params, RequestId } from '../wire/json-rpc.ts';
import { readClientResult } from './legacy-protocol.ts';

/**
 * Requests of the gateway to clients of the 2025 protocols. The client's response is a separate HTTP request,
 * to any gateway; the request id names the gateway that waits for it.
 */
export interface ClientRequests {
  /**
   * Sends the request and resolves with the client's response. Throws `capability_missing` if the client
   * responds with an error or an invalid result, `tool_timeout` after 10 minutes, and the signal's reason.
   */
  ask(
    request: InputRequest,
    send: (message: object) => void,
    signal: AbortSignal,
  ): Promise<Record<string, unknown>>;
  /** Delivers a client's response to the waiting gateway; dropped when nothing waits for it. */
  settle(id: RequestId, message: Params): Promise<void>;
  close(): void;
}

/** Long, because a person may have to respond. */
const timeoutMs = 600_000;

/** Creates the requests of one gateway to its clients. */
export function createClientRequests(replicas: Replicas): ClientRequests {
  const waiting = new Map<string, (message: Params) => void>();
  const stop = replicas.onSignal((signal) => {
    if (signal.kind === 'reply') deliver(signal.message as Params);
  });
  const deliver = (message: Params) => waiting.get(String(message.id))?.(message);

  return {
    async ask({ method, params = {} }, send, signal) {
      const id = `${replicas.id}.${randomUUID()}`;
      const late = new AbortController();
      const timer = setTimeout(() => {
        const message = `The client did not respond to ${method} within ${timeoutMs / 60_000} minutes.`;
        late.abort(new AppError('tool_timeout', message));
      }, timeoutMs);
      const limit = AbortSignal.any([signal, late.signal]);
      const answer = await new Promise<Params>((resolve, reject) => {
        const onAbort = () => reject(limit.reason);
        if (limit.aborted) return onAbort();
        limit.addEventListener('abort', onAbort, { once: true });
        waiting.set(id, resolve);
        send({ jsonrpc: '2.0', id, method, params });
      }).finally(() => {
        clearTimeout(timer);
        waiting.delete(id);
      });
      const { result, error } = answer as { result?: Params; error?: { message?: unknown } };
      if (result !== undefined) return readClientResult(method, result);
      throw new AppError(
        'capability_missing',
        `The client refused ${method}: ${String(error?.message ?? '')}`,
      );
    },
    async settle(id, message) {
      const [replica = ''] = String(id).split('.');
      if (replica === replicas.id) deliver(message);
      else if (replica) await replicas.send(replica, { kind: 'reply', message });
    },
    close: stop,
  };
}
