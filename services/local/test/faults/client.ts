import { setTimeout as after } from 'node:timers/promises';
import type { Run, ThreadEvent } from '@harness/contracts';

/** A response that is no success; `code` is undefined when the body is not the documented one. */
export interface Refusal {
  request: string;
  status: number;
  code: string | undefined;
  ms: number;
}

/** The parts of a request; `key` is its idempotency key. */
interface Sent {
  body?: object;
  key?: string;
}

/** A caller as in the README: it repeats a request that may have been accepted, with the same key. */
export interface Client {
  /** Every response that is no success, and every request without a response in time. */
  readonly refusals: Refusal[];
  /** Connections that were refused or broken, without a response. */
  readonly cuts: number;
  /** Returns the first response of any gateway that is no 503. Throws after `persistMs` without one. */
  call<T>(method: string, path: string, sent?: Sent): Promise<T>;
  thread(): Promise<string>;
  send(threadId: string, input: string, key: string): Promise<Run>;
  runs(threadId: string): Promise<Run[]>;
  events(threadId: string): Promise<ThreadEvent[]>;
}

/** A gateway returns 503 within a second; after this time it hangs, ms. */
const answerLimitMs = 10_000;
/** How long a caller retries, ms. */
const persistMs = 60_000;
const retryMs = 100;
const pageSize = 100;

export function createClient(gateways: () => readonly string[]): Client {
  const refusals: Refusal[] = [];
  let cuts = 0;
  let turn = 0;

  const once = async (method: string, path: string, { body, key }: Sent) => {
    const urls = gateways();
    const url = urls[turn++ % urls.length] ?? '';
    const startedAt = performance.now();
    const request = `${method} ${path}`;
    try {
      const response = await fetch(url + path, {
        method,
        headers: {
          accept: 'application/json',
          ...(body ? { 'content-type': 'application/json' } : {}),
          ...(key ? { 'idempotency-key': key } : {}),
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
        signal: AbortSignal.timeout(answerLimitMs),
      });
      const answer = (await response.json()) as { error?: { code?: string } };
      if (response.ok) return { answer };
      const ms = performance.now() - startedAt;
      const refusal = { request, status: response.status, code: answer.error?.code, ms };
      refusals.push(refusal);
      return { refusal };
    } catch (error) {
      if ((error as Error).name === 'TimeoutError')
        refusals.push({ request, status: 0, code: undefined, ms: answerLimitMs });
      else cuts++;
      return {};
    }
  };
  const call = async <T>(method: string, path: string, sent: Sent = {}): Promise<T> => {
    const end = performance.now() + persistMs;
    for (;;) {
      const { answer, refusal } = await once(method, path, sent);
      if (answer) return answer as T;
      if (refusal && refusal.status !== 503)
        throw new Error(`${refusal.request}: ${refusal.status} ${refusal.code}`);
      if (performance.now() > end) throw new Error(`${method} ${path}: no success in ${persistMs} ms`);
      await after(retryMs);
    }
  };

  return {
    refusals,
    get cuts() {
      return cuts;
    },
    call,
    async thread() {
      return (await call<{ threadId: string }>('POST', '/v1/threads', { body: {} })).threadId;
    },
    send: (threadId, input, key) => call('POST', `/v1/threads/${threadId}/runs`, { body: { input }, key }),
    async runs(threadId) {
      const found: Run[] = [];
      for (;;) {
        const path = `/v1/threads/${threadId}/runs?limit=${pageSize}&offset=${found.length}`;
        const { runs } = await call<{ runs: Run[] }>('GET', path);
        found.push(...runs);
        if (runs.length < pageSize) return found.reverse();
      }
    },
    async events(threadId) {
      const found: ThreadEvent[] = [];
      for (;;) {
        const after = found.at(-1)?.id ?? '0';
        const { events } = await call<{ events: ThreadEvent[] }>(
          'GET',
          `/v1/threads/${threadId}/events?after=${after}`,
        );
        if (events.length === 0) return found;
        found.push(...events);
      }
    },
  };
}
