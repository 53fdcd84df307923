/** Follows the events of a thread over any number of connections. */
import { setTimeout } from 'node:timers/promises';
import type { ThreadEvent } from '@harness/contracts';
import { GatewayRefusal, readEventStream } from '@harness/runtime';
import { reasonOf } from './gateway-client.ts';

/** What to follow, and the callbacks about the connection. */
export interface Following {
  url: string;
  headers: Record<string, string>;
  signal: AbortSignal;
  /** The connection was lost. Called once per loss, not for every failed retry. */
  onAway(reason: string): void;
  onBack(): void;
  /** Events after the last one are no longer stored; the next events are a replay of everything that is stored. */
  onGap(): void;
  /** A connection without data for this long counts as lost, ms. Default 35 000. */
  silenceMs?: number;
}

const firstWaitMs = 200;
const maxWaitMs = 5_000;
/** The gateway sends something every 10 s. */
const defaultSilenceMs = 35_000;
const lastingRefusals: ReadonlySet<number> = new Set([400, 401, 403, 404]);

/**
 * Yields the events of a thread until `signal` aborts. After a lost connection it reconnects and resumes after the last
 * event, so that no event is lost or repeated. Throws GatewayRefusal if a retry cannot help (400, 401, 403, 404).
 */
export async function* followEvents(following: Following): AsyncGenerator<ThreadEvent> {
  const { url, headers, signal, silenceMs = defaultSilenceMs } = following;
  let lastEventId: string | undefined;
  let waitMs = firstWaitMs;
  let away = false;
  while (!signal.aborted) {
    let reason = 'the stream has ended';
    try {
      const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
      for await (const event of readEventStream(url, {
        headers: { ...headers, ...resume },
        signal,
        silenceMs,
      })) {
        if (away) following.onBack();
        away = false;
        waitMs = firstWaitMs;
        lastEventId = event.id ?? lastEventId;
        yield event;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof GatewayRefusal) {
        if (lastingRefusals.has(error.status)) throw error;
        if (error.status === 410 && lastEventId !== undefined) {
          lastEventId = undefined;
          following.onGap();
        }
      }
      reason = reasonOf(error as Error);
    }
    if (signal.aborted) return;
    if (!away) following.onAway(reason);
    away = true;
    // Random jitter, so that many terminals of one gateway do not reconnect at the same moment.
    await pause(waitMs * (0.5 + Math.random() / 2), signal);
    waitMs = Math.min(waitMs * 2, maxWaitMs);
  }
}

/** Waits; resolves early when the signal aborts. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  setTimeout(ms, undefined, { signal }).catch(() => undefined);
