/** Executes a plan. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Failures } from './failures.ts';
import type { Action } from './plan.ts';
import type { Reply } from './reply.ts';
import { toolUseOf } from './wire.ts';

/** How to execute a plan. */
export interface Performance {
  reply: Reply;
  /** Aborts when the client has disconnected. */
  signal: AbortSignal;
  /** Interval of signs of life while sleeping, because clients close a silent stream (Claude Code after 10 s or more). */
  keepAliveEveryMs?: number;
}

/** An error response that is due. */
export type Failure = { status: number; afterMs: number; message: string };

/**
 * The error response that the plan requires, if one is due. It is an HTTP status, so no text can come before it: of the
 * actions above it, only the sleeps are executed.
 */
export function failureOf(plan: Action[], failures: Failures, session: string): Failure | undefined {
  let afterMs = 0;
  for (const action of plan) {
    if (action.kind === 'sleep') afterMs += action.ms;
    if (action.kind === 'fail' && failures.take(session, action.line, action.times)) {
      return { status: action.status, afterMs, message: `The script asks for status ${action.status}.` };
    }
  }
  return undefined;
}

/** Executes the plan. Rejects with an AbortError when the client disconnects. */
export async function perform(plan: Action[], performance: Performance): Promise<void> {
  const { reply, signal } = performance;
  for (const action of plan) {
    switch (action.kind) {
      case 'text':
        await speak(action, performance);
        break;
      case 'sleep':
        await sleep(action.ms, performance);
        break;
      case 'use':
        reply.use(toolUseOf(action.tool, action.input));
        break;
      case 'hang':
        return goneOf(signal);
      case 'cut':
        return reply.cut();
      case 'fail':
        break; // it has failed as often as the script demands
    }
  }
  reply.end();
}

async function speak({ deltas, everyMs }: Action & { kind: 'text' }, { reply, signal }: Performance) {
  for (const delta of deltas) {
    if (everyMs > 0 && reply.streams) await delay(everyMs, undefined, { signal });
    reply.text(delta);
  }
}

async function sleep(ms: number, { reply, signal, keepAliveEveryMs = 5_000 }: Performance) {
  for (let left = ms; left > 0; left -= keepAliveEveryMs) {
    await delay(Math.min(left, keepAliveEveryMs), undefined, { signal });
    if (left > keepAliveEveryMs) reply.keepAlive();
  }
}

const goneOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
