/**
 * Follows an event stream of the gateway. The stream is stored and replayable, so it survives everything: after a lost
 * connection, a sleeping laptop or a killed gateway it continues after the last event that arrived, without a gap and
 * without a repeat. A hidden page lets its connection go (a browser has six for each host) and resumes when it is shown.
 */
import type { ThreadEvent } from '@harness/contracts';
import { createParser } from 'eventsource-parser';
import { type ApiError, errorOf } from './api.ts';

/** State of a stream. paused: the page is hidden; over: it cannot be read (any more). */
export type StreamState =
  | { at: 'connecting' | 'replaying' | 'live' | 'paused' }
  | { at: 'waiting'; error: string }
  | { at: 'over'; error: ApiError };

/** Who receives the events of a stream. */
export interface Follower {
  /** Events in order, as many as arrived within a tenth of a second. */
  onEvents(events: readonly ThreadEvent[]): void;
  onState(state: StreamState): void;
  /** Events that are not stored (deltas) may be missing from here on. */
  onCut(): void;
  /** The oldest events were trimmed while the stream was away: everything is read anew. */
  onRestart(): void;
}

/** The gateway answers at once, and then sends a comment every 10 s: otherwise the connection is dead. */
const [answerMs, silenceMs] = [10_000, 25_000];
/** A page that is hidden for longer lets its connection go. */
const hiddenMs = 30_000;
const [firstDelayMs, maxDelayMs] = [250, 5_000];
/** Events that arrive within this time are shown together: as fast as people read, and no faster. */
const flushMs = 100;

/**
 * Follows the stream at a path until the returned function is called. `after`: an event id to begin behind; default: the oldest
 * event that is kept.
 */
export function followEvents(path: string, follower: Follower, after?: string): () => void {
  const over = new AbortController();
  let lastId = after;
  let connection: AbortController | undefined;
  let delayMs = firstDelayMs;
  let wake: (() => void) | undefined;
  let lastByteAt = Date.now();
  let hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  const out = createBuffer((events) => {
    if (!over.signal.aborted) follower.onEvents(events);
  });

  const read = async () => {
    connection = new AbortController();
    const { signal } = connection;
    const headers: Record<string, string> = { accept: 'text/event-stream' };
    if (lastId !== undefined) headers['last-event-id'] = lastId;
    follower.onState({ at: 'connecting' });
    const late = setTimeout(() => connection?.abort(), answerMs);
    const response = await fetch(`${path}${path.includes('?') ? '&' : '?'}follow=true`, {
      headers,
      signal,
    }).finally(() => clearTimeout(late));
    if (!response.ok || !response.body) throw errorOf(response.status, await response.text());
    follower.onState({ at: 'replaying' });
    lastByteAt = Date.now();
    const parser = createParser({
      onEvent({ id, event = '', data }) {
        if (id !== undefined) lastId = id;
        if (event === 'stream.replayed') {
          delayMs = firstDelayMs;
          out.flush();
          follower.onState({ at: 'live' });
          return;
        }
        out.push({ id: id ?? null, type: event as ThreadEvent['type'], data: JSON.parse(data) });
      },
    });
    const bytes = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const watch = setInterval(() => {
      if (Date.now() - lastByteAt > silenceMs) connection?.abort();
    }, 1_000);
    try {
      for (;;) {
        const { done, value } = await bytes.read();
        if (done) return;
        lastByteAt = Date.now();
        parser.feed(value);
      }
    } finally {
      clearInterval(watch);
      out.flush();
      follower.onCut();
    }
  };

  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  const run = async () => {
    while (!over.signal.aborted) {
      if (document.visibilityState === 'hidden' && lastId !== undefined) {
        follower.onState({ at: 'paused' });
        await pause(3_600_000);
        continue;
      }
      const failure = await read().catch((error: unknown) => error);
      if (over.signal.aborted) return;
      const status = (failure as Partial<ApiError> | undefined)?.status ?? 0;
      if (status === 410) {
        lastId = undefined;
        follower.onRestart();
        continue;
      }
      if (status >= 400 && status < 500 && status !== 408 && status !== 429) {
        follower.onState({ at: 'over', error: failure as ApiError });
        return;
      }
      follower.onState({ at: 'waiting', error: 'The gateway does not answer; trying again.' });
      await pause(delayMs * (0.75 + Math.random() / 2));
      delayMs = Math.min(delayMs * 2, maxDelayMs);
    }
  };

  const onVisible = () => {
    clearTimeout(hiddenTimer);
    if (document.visibilityState === 'hidden') {
      hiddenTimer = setTimeout(() => connection?.abort(), hiddenMs);
      return;
    }
    if (Date.now() - lastByteAt > silenceMs) connection?.abort();
    wake?.();
  };
  /** The network is another one: what was connected before may be silent for ever. */
  const onOnline = () => {
    connection?.abort();
    wake?.();
  };
  document.addEventListener('visibilitychange', onVisible);
  window.addEventListener('online', onOnline);
  over.signal.addEventListener('abort', () => {
    document.removeEventListener('visibilitychange', onVisible);
    window.removeEventListener('online', onOnline);
    clearTimeout(hiddenTimer);
    connection?.abort();
    wake?.();
    out.close();
  });
  void run();
  return () => over.abort();
}

/** Collects events and passes them on at most once in `flushMs`, in a frame of the browser. */
function createBuffer(pass: (events: ThreadEvent[]) => void) {
  let waiting: ThreadEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0) return;
    const events = waiting;
    waiting = [];
    pass(events);
  };
  return {
    push(event: ThreadEvent) {
      waiting.push(event);
      timer ??= setTimeout(flush, flushMs);
    },
    flush,
    close: () => clearTimeout(timer),
  };
}
