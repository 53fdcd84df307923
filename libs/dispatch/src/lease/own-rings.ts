/**
 * Rings of threads that a worker owns: it hears them on a channel of its own, which costs one PUBLISH where a job costs
 * fifty commands. Nothing depends on them: a ring that nobody heard is a doorbell, and what was missed while the
 * connection was away is looked for.
 */
import type { Feed } from '../redis/feed.ts';
import type { Keys } from '../redis/keys.ts';

/** The rings of a worker's own threads, in the order in which they came. */
export interface OwnRings {
  /** Looks into the thread's mailbox, after those that were rung before; one at a time for each thread. */
  ring(threadId: string): void;
  /** Takes no more; resolves when those under way have ended. */
  close(): Promise<void>;
}

/** What is done with a ring. */
export interface OwnRingsOptions {
  /** Threads looked into at once. */
  concurrency: number;
  /** True: there is more to do. */
  onRing(threadId: string): Promise<boolean>;
  /** It could not be looked into now. */
  onFailed(threadId: string, error: unknown): void;
}

export function createOwnRings({ concurrency, onRing, onFailed }: OwnRingsOptions): OwnRings {
  const waiting = new Set<string>();
  /** Under way; `again`: rung meanwhile. */
  const running = new Map<string, { again: boolean }>();
  let closed = false;
  let idle: (() => void) | undefined;

  const start = () => {
    for (const threadId of waiting) {
      if (running.size >= concurrency || closed) break;
      waiting.delete(threadId);
      running.set(threadId, { again: false });
      void look(threadId);
    }
    if (running.size === 0) idle?.();
  };
  const look = async (threadId: string) => {
    let more = false;
    try {
      more = await onRing(threadId);
    } catch (error) {
      onFailed(threadId, error);
    }
    const again = more || running.get(threadId)?.again === true;
    running.delete(threadId);
    if (again && !closed) waiting.add(threadId);
    start();
  };
  return {
    ring(threadId) {
      if (closed) return;
      const now = running.get(threadId);
      if (now) now.again = true;
      else waiting.add(threadId);
      start();
    },
    async close() {
      closed = true;
      waiting.clear();
      if (running.size > 0) await new Promise<void>((resolve) => (idle = resolve));
    },
  };
}

/** Hands every ring on the worker's channel to `rings` until `signal` aborts; `held`: the threads that it owns. */
export async function followOwnRings(
  deps: { feed: Feed; keys: Keys; rings: OwnRings; held(): string[] },
  workerId: string,
  signal: AbortSignal,
): Promise<void> {
  for await (const threadId of await deps.feed.listen([deps.keys.of('ring', workerId)], signal)) {
    for (const one of threadId === '' ? deps.held() : [threadId]) deps.rings.ring(one);
  }
}
