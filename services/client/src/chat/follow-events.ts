import { setTimeout } from 'node:timers/promises';
import type { ThreadEvent } from '@harness/contracts';
import { GatewayRefusal, readEventStream } from '@harness/runtime';
import { reasonOf } from './gateway-client.ts';

export interface Following {
  url: string;
  headers: Record<string, string>;
  signal: AbortSignal;
  /** The connection is lost; once for each time it is, however often it is tried again. */
  onAway(reason: string): void;
  onBack(): void;
  /** The gateway no longer keeps what followed the last event: what comes next is a replay of all that it keeps. */
  onGap(): void;
  /** A connection that is silent for longer is none, ms. */
  silenceMs?: number;
}

const firstWaitMs = 200;
const maxWaitMs = 5_000;
/** The gateway sends something every 10 s. */
const defaultSilenceMs = 35_000;
const lastingRefusals: ReadonlySet<number> = new Set([400, 401, 403, 404]);

/**
 * Events of a thread for ever, over as many connections as it takes: after a break from the last one that was seen, so
 * that none is lost and none comes twice. Throws GatewayRefusal where trying again is no use.
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
    // Many terminals that lost the same gateway should not come back at one moment.
    await pause(waitMs * (0.5 + Math.random() / 2), signal);
    waitMs = Math.min(waitMs * 2, maxWaitMs);
  }
}

/** Resolves early when the signal aborts. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  setTimeout(ms, undefined, { signal }).catch(() => undefined);
