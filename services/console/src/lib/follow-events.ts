/**
 * Follows an event stream of the gateway. Events are stored and can be replayed: after a lost connection, a sleeping
 * laptop or a killed gateway the stream continues after the last event that arrived, without a gap or a repeat. A hidden
 * page closes its connection (a browser has six for each host) and resumes when it is shown.
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

/** Times without data after which a connection is dead, ms: the gateway responds at once, then sends a comment every 10 s. */
const [answerMs, silenceMs] = [10_000, 25_000];
/** A page that is hidden for longer closes its connection, ms. */
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
  const connection = createConnection();
  const pause = createPause();
  let lastId = after;
  let delayMs = firstDelayMs;
  const out = createBuffer((events) => {
    if (!over.signal.aborted) follower.onEvents(events);
  });

  const parser = () =>
    createParser({
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
  const read = async () => {
    follower.onState({ at: 'connecting' });
    const body = await connection.open(path, lastId);
    follower.onState({ at: 'replaying' });
    try {
      const parsing = parser();
      await connection.receive(body, (text) => parsing.feed(text));
    } finally {
      out.flush();
      follower.onCut();
    }
  };

  const run = async () => {
    while (!over.signal.aborted) {
      if (document.visibilityState === 'hidden' && lastId !== undefined) {
        follower.onState({ at: 'paused' });
        await pause.wait(3_600_000);
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
      await pause.wait(delayMs * (0.75 + Math.random() / 2));
      delayMs = Math.min(delayMs * 2, maxDelayMs);
    }
  };

  const unwatch = watchPage(connection, pause);
  over.signal.addEventListener('abort', () => {
    unwatch();
    connection.cut();
    pause.wake();
    out.close();
  });
  void run();
  return () => over.abort();
}

/** One connection at a time to a stream. A dead one has no error: it is cut when it is silent for too long. */
function createConnection() {
  let current: AbortController | undefined;
  let lastByteAt = Date.now();
  const cut = () => current?.abort();
  const cutIfSilent = () => {
    if (Date.now() - lastByteAt > silenceMs) cut();
  };
  return {
    cut,
    cutIfSilent,
    /** Opens the stream after an event. Throws ApiError. */
    async open(path: string, lastId: string | undefined): Promise<ReadableStream<BufferSource>> {
      current = new AbortController();
      const headers: Record<string, string> = { accept: 'text/event-stream' };
      if (lastId !== undefined) headers['last-event-id'] = lastId;
      const late = setTimeout(cut, answerMs);
      const response = await fetch(`${path}${path.includes('?') ? '&' : '?'}follow=true`, {
        headers,
        signal: current.signal,
      }).finally(() => clearTimeout(late));
      if (!response.ok || !response.body) throw errorOf(response.status, await response.text());
      lastByteAt = Date.now();
      return response.body;
    },
    /** Passes the text of the stream on until it ends. */
    async receive(body: ReadableStream<BufferSource>, onText: (text: string) => void): Promise<void> {
      const bytes = body.pipeThrough(new TextDecoderStream()).getReader();
      const watch = setInterval(cutIfSilent, 1_000);
      try {
        for (;;) {
          const { done, value } = await bytes.read();
          if (done) return;
          lastByteAt = Date.now();
          onText(value);
        }
      } finally {
        clearInterval(watch);
      }
    },
  };
}

/** A pause that can be ended early. */
function createPause() {
  let wake: (() => void) | undefined;
  return {
    wait: (ms: number) =>
      new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
    wake: () => wake?.(),
  };
}

/**
 * Cuts the connection of a page that stays hidden, and wakes the pause when the page is shown or the network has changed.
 * Returns the function that ends this.
 */
function watchPage(
  connection: ReturnType<typeof createConnection>,
  pause: ReturnType<typeof createPause>,
): () => void {
  let hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  const onVisible = () => {
    clearTimeout(hiddenTimer);
    if (document.visibilityState === 'hidden') {
      hiddenTimer = setTimeout(connection.cut, hiddenMs);
      return;
    }
    connection.cutIfSilent();
    pause.wake();
  };
  /** The network has changed: a connection from before may stay silent for ever. */
  const onOnline = () => {
    connection.cut();
    pause.wake();
  };
  document.addEventListener('visibilitychange', onVisible);
  window.addEventListener('online', onOnline);
  return () => {
    document.removeEventListener('visibilitychange', onVisible);
    window.removeEventListener('online', onOnline);
    clearTimeout(hiddenTimer);
  };
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
