import { setTimeout as after } from 'node:timers/promises';
import { readEventStream } from '@harness/runtime';
import type { Random } from './random.ts';

/** A subscriber whose connection breaks repeatedly, and which resumes with its last event id at any gateway. */
export interface Reader {
  threadId: string;
  /** Ids of the stored events, in the order received. */
  readonly seen: string[];
  close(): Promise<void>;
}

const retryMs = 100;

export function startReader(
  threadId: string,
  { gateways, random }: { gateways: () => readonly string[]; random: Random },
): Reader {
  const seen: string[] = [];
  const leave = new AbortController();
  const readSome = async () => {
    const cutAfter = random.between(1, 30);
    const last = seen.at(-1);
    const stream = readEventStream(`${random.pick(gateways())}/v1/threads/${threadId}/events?follow=true`, {
      headers: last ? { 'last-event-id': last } : {},
      signal: leave.signal,
    });
    let read = 0;
    for await (const { id } of stream) {
      if (id !== null) seen.push(id);
      if (++read > cutAfter) return;
    }
  };
  const reading = (async () => {
    while (!leave.signal.aborted) {
      // The gateway is down, or it closed the stream: retry later, as any subscriber does.
      await readSome().catch(() => after(retryMs));
    }
  })();
  return {
    threadId,
    seen,
    async close() {
      leave.abort();
      await reading;
    },
  };
}
