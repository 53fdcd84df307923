import { randomUUID } from 'node:crypto';
import { AppError } from '@harness/contracts';
import type { Client } from '@modelcontextprotocol/client';
import type { Send } from './follow-task.ts';
import type { RawResult, RequestOptions } from './request.ts';

/** How long a question waits for the next round of its call, ms; a person may have to answer. */
const answerMs = 600_000;
/** The SDK's own limit of a call, ms: each round of it has one of its own. */
const noLimitMs = 86_400_000;
const prefix = 'call:';

/**
 * Returns the function that calls a tool of a server of the 2025 versions which may ask the user. These ask in the middle of a call,
 * and do not say of which: so a question passes only at the connection of a thread, while it has one call in progress that does not
 * wait for an answer itself, and whose caller can be asked; any other is declined. The call then ends a round with `{resultType: 'input_required',
 * inputRequests, continues}`, as in 2026-07-28, while the server waits; the call with the responses goes on where it was.
 */
export function createAskedCalls(client: Client, send: Send): Send {
  const open = new Map<string, OpenCall>();
  client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) => {
    const [call, ...others] = [...open.values()].filter(({ isAttended }) => isAttended);
    if (!call?.canAnswer || others.length > 0) return { action: 'decline' };
    return call.ask({ method: 'elicitation/create', params }, mcpReq.signal);
  });
  const begin = (method: string, params: RawResult, options: RequestOptions): OpenCall => {
    const call = createOpenCall(options.capabilities ?? {}, (live) =>
      send(method, params, { ...options, ...live, timeoutMs: noLimitMs }).finally(() => open.delete(call.id)),
    );
    open.set(call.id, call);
    return call;
  };
  return async (method, params, options) => {
    const { continues } = options;
    if (!continues?.startsWith(prefix)) return begin(method, params, options).round(options);
    const call = open.get(continues);
    if (!call)
      throw new AppError(
        'tool_failed',
        'The call that asked has ended, so the answer comes too late. Call again.',
      );
    call.answer((params.inputResponses ?? {}) as Answers);
    return call.round(options);
  };
}

type Answer = { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, never> };
type Answers = Record<string, Answer | undefined>;

/** A call in progress at the server, over all its rounds. */
interface OpenCall {
  id: string;
  canAnswer: boolean;
  /** Whether a round is in progress, so that the caller waits for the server and not the server for the caller. */
  readonly isAttended: boolean;
  /** Asks the caller, at the end of this round. Resolves with the answer. */
  ask(request: RawResult, signal: AbortSignal): Promise<Answer>;
  answer(answers: Answers): void;
  /** Waits for the result or a question. */
  round(options: RequestOptions): Promise<RawResult>;
}

function createOpenCall(
  capabilities: RawResult,
  send: (live: Pick<RequestOptions, 'signal' | 'onProgress'>) => Promise<RawResult>,
): OpenCall {
  const id = `${prefix}${randomUUID()}`;
  const ended = new AbortController();
  const questions = new Map<string, { request: RawResult; settle(answer: Answer): void }>();
  let asked = Promise.withResolvers<void>();
  let attended: RequestOptions | undefined;
  let late: NodeJS.Timeout | undefined;
  const endIn = (ms: number, why: string) => {
    clearTimeout(late);
    late = setTimeout(() => ended.abort(new AppError('tool_timeout', why)), ms).unref();
  };
  // In a later task, so that the call is known before its server can ask.
  const result = Promise.resolve()
    .then(() => send({ signal: ended.signal, onProgress: (step) => attended?.onProgress?.(step) }))
    .finally(() => clearTimeout(late));
  result.catch(() => undefined); // it may end between two rounds

  return {
    id,
    canAnswer: capabilities.elicitation !== undefined,
    get isAttended() {
      return attended !== undefined;
    },
    ask(request, signal) {
      const { promise, resolve } = Promise.withResolvers<Answer>();
      const key = `question-${randomUUID()}`;
      const settle = (answer: Answer) => {
        if (questions.delete(key)) resolve(answer);
      };
      questions.set(key, { request, settle });
      for (const one of [signal, ended.signal])
        one.addEventListener('abort', () => settle({ action: 'cancel' }));
      asked.resolve();
      return promise;
    },
    answer(answers) {
      for (const [key, { settle }] of questions) settle(answers[key] ?? { action: 'cancel' });
      asked = Promise.withResolvers();
    },
    async round(options) {
      attended = options;
      const { signal, timeoutMs } = options;
      endIn(timeoutMs, `The upstream did not answer within ${timeoutMs} ms.`);
      const cancel = () => ended.abort(signal?.reason);
      signal?.addEventListener('abort', cancel, { once: true });
      if (signal?.aborted) cancel();
      try {
        for (;;) {
          const outcome = await Promise.race([result, asked.promise]);
          if (outcome) return outcome;
          if (questions.size > 0) break;
          asked = Promise.withResolvers(); // the server has taken its question back
        }
        endIn(answerMs, 'The question of the upstream was not answered.');
        const inputRequests = Object.fromEntries([...questions].map(([key, { request }]) => [key, request]));
        return { resultType: 'input_required', inputRequests, continues: id };
      } catch (error) {
        throw ended.signal.reason instanceof AppError ? ended.signal.reason : error;
      } finally {
        attended = undefined;
        signal?.removeEventListener('abort', cancel);
      }
    },
  };
}
