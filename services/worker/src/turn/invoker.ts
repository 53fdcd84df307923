import { createHash, randomUUID } from 'node:crypto';
import { AppError } from '@harness/contracts';
import type { InvokeOptions, Invoker } from '@harness/plugin-kit';
import type { OpenSession } from '../session/open-session.ts';
import type { SessionPool } from '../session/pool/session-pool.ts';
import { turnScope } from './turn-scope.ts';

const defaultTimeoutMs = 300_000;

/** The key of the conversation that a call of `invoke` belongs to. */
export const sessionKeyOf = (options: InvokeOptions): string =>
  options.threadId ?? options.sessionId ?? 'default';

/**
 * Creates `ctx.invoker` for a worker: sessions without tools, one per plugin, tenant, task and key. Inside a
 * turn the session is a guest in the turn's slot, so a full pool cannot block a review. Calls with the same
 * key run one at a time. Throws `invoke_timeout`, `model_error`, `session_failed`, and `turn_cancelled` when
 * the turn ends first.
 */
export function createInvoker(deps: {
  pool: SessionPool;
  openSession: OpenSession;
  plugin: string;
  defaultModel: string | undefined;
  /** Requests the session of a thread of the tenant; false if there is no such thread. */
  prewarmThread(tenant: string | undefined, threadId: string): Promise<boolean>;
}): Invoker {
  const { pool, openSession } = deps;
  const turns = new Map<string, Promise<unknown>>();

  const lend = (key: string, options: InvokeOptions) => {
    const profile = {
      model: options.model ?? deps.defaultModel,
      systemPrompt: undefined,
      tools: [],
      outputSchema: options.outputSchema,
    };
    // The key becomes a folder name: hashed, so that it cannot choose a path.
    const home = createHash('sha256').update(key).digest('hex').slice(0, 32);
    const open = () => openSession({ name: home, profile });
    return pool.lend({ key, profile, guest: true, open });
  };
  const answer = async (key: string, prompt: string, options: InvokeOptions): Promise<string> => {
    const { session } = await lend(key, options);
    const timeoutMs = options.timeout ?? defaultTimeoutMs;
    const asked = session.ask({
      prompt,
      uuid: randomUUID(),
      onEvent(event) {
        if (event.type === 'agent.message_delta')
          options.onMessage?.({ type: 'delta', text: String(event.text) });
        if (event.type === 'agent.message')
          options.onMessage?.({ type: 'message', text: String(event.text) });
      },
    });
    const reply = await within(asked, timeoutMs, turnScope.getStore()?.signal).catch((error) => {
      // After any error the conversation is in an unknown state: the next call starts a new one.
      pool.evict(key);
      throw error;
    });
    if (reply.outcome === 'success') {
      pool.give(key);
      return reply.text;
    }
    pool.evict(key);
    throw new AppError('model_error', reply.message);
  };

  const keyOf = (options: InvokeOptions): string => {
    const scope = turnScope.getStore();
    const within = [deps.plugin, scope?.tenant, scope?.taskId ?? scope?.threadId];
    return JSON.stringify(['invoke', ...within, sessionKeyOf(options)]);
  };
  /** Runs work of the same key in sequence, also after failures. */
  const inTurn = <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const turn = (turns.get(key) ?? Promise.resolve()).then(work, work);
    turns.set(key, turn);
    const done = () => {
      if (turns.get(key) === turn) turns.delete(key);
    };
    turn.then(done, done);
    return turn;
  };

  return {
    async invoke(prompt, options = {}) {
      const key = keyOf(options);
      return inTurn(key, () => answer(key, prompt, options));
    },
    async prewarm(options = {}) {
      const { threadId } = options;
      const { tenant } = turnScope.getStore() ?? {};
      if (threadId !== undefined && (await deps.prewarmThread(tenant, threadId))) return;
      const key = keyOf(options);
      await inTurn(key, async () => {
        await lend(key, options);
        pool.give(key);
      });
    },
  };
}

async function within<T>(work: Promise<T>, timeoutMs: number, signal: AbortSignal | undefined): Promise<T> {
  work.catch(() => undefined); // it may fail after the race is over
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  const limit = new Promise<never>((_, reject) => {
    const message = `The model did not answer within ${timeoutMs} ms.`;
    timer = setTimeout(() => reject(new AppError('invoke_timeout', message)), timeoutMs);
    onAbort = () => reject(new AppError('turn_cancelled', 'The turn ended.'));
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
    if (onAbort) signal?.removeEventListener('abort', onAbort);
  }
}
