/**
 * Rings of threads that a worker owns, received on the worker's own pub/sub channel: one PUBLISH instead of
 * about fifty commands for a BullMQ job. Nothing depends on them: if no worker is subscribed, a doorbell
 * rings instead, and after a reconnect the worker checks the mailboxes of all its threads.
 */
import type { Feed } from '../redis/feed.ts';
import type { Keys } from '../redis/keys.ts';

/** Handles rings in the order in which they came. */
export interface OwnRings {
  /** Queues a call of `onRing` for the thread; at most one per thread runs at a time. */
  ring(threadId: string): void;
  /** Accepts no more rings; resolves when the calls in progress have ended. */
  close(): Promise<void>;
}

/** How rings are handled. */
export interface OwnRingsOptions {
  /** Calls of `onRing` that run at once. */
  concurrency: number;
  /** Handles a thread with mail. Resolves with true when there is more to do. */
  onRing(threadId: string): Promise<boolean>;
  /** Called when `onRing` has thrown. */
  onFailed(threadId: string, error: unknown): void;
}

/** Queues rings and calls `onRing` for each, within `concurrency`. */
export function createOwnRings({ concurrency, onRing, onFailed }: OwnRingsOptions): OwnRings {
  const waiting = new Set<string>();
  /** Threads being handled; `again`: rung meanwhile. */
  const running = new Map<string, { again: boolean }>();
  let closed = false;
  let idle: (() => void) | undefined;

  const start = () => {
    for (const threadId of waiting) {
      if (running.size >= concurrency || closed) break;
      waiting.delete(threadId);
      running.set(threadId, { again: false });
      void handle(threadId);
    }
    if (running.size === 0) idle?.();
  };
  const handle = async (threadId: string) => {
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

/**
 * Passes every ring on the worker's channel to `rings` until `signal` aborts. `held`: the threads that the
 * worker owns, all of them rung after a reconnect.
 */
export async function followOwnRings(
  deps: { feed: Feed; keys: Keys; rings: OwnRings; held(): string[] },
  workerId: string,
  signal: AbortSignal,
): Promise<void> {
  for await (const threadId of await deps.feed.listen([deps.keys.of('ring', workerId)], signal)) {
    for (const one of threadId === '' ? deps.held() : [threadId]) deps.rings.ring(one);
  }
}
