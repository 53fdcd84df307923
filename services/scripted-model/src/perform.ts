import { setTimeout as delay } from 'node:timers/promises';
import type { Failures } from './failures.ts';
import type { Action } from './plan.ts';
import type { Reply } from './reply.ts';
import { toolUseOf } from './wire.ts';

export interface Performance {
  reply: Reply;
  /** Aborts when nobody listens any more. */
  signal: AbortSignal;
  /** Readers give up on a silent stream (Claude Code after 10 s at the earliest): a sleeping model is not a dead one. */
  keepAliveEveryMs?: number;
}

export type Failure = { status: number; afterMs: number; message: string };

/**
 * The failure that this plan has to answer with, if one is due. A failure is an HTTP status, so nothing can be said
 * before it: of the actions above it only the sleeps remain.
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

/** Does what the plan says. Rejects with an AbortError as soon as nobody listens. */
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
        break; // it has failed as often as it had to
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
