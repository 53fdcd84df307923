import type { Feed } from '../redis/feed.ts';
import type { Keys } from '../redis/keys.ts';

/** A control message for immediate effect; the flags in Redis are the source of truth. */
export type Control =
  | { action: 'cancel' | 'interrupt'; threadId: string; runId: string }
  | { action: 'drop'; threadId: string }
  | { action: 'drain' }
  /** Messages may have been missed: read the flags in Redis instead. */
  | { action: 'missed' };

/** Calls `onControl` for each message on the worker's control channel until `signal` aborts. */
export async function followControl(
  deps: { feed: Feed; keys: Keys },
  { workerId, onControl }: { workerId: string; onControl: (control: Control) => void },
  signal: AbortSignal,
): Promise<void> {
  for await (const message of await deps.feed.listen([deps.keys.of('ctl', workerId)], signal)) {
    onControl(message === '' ? { action: 'missed' } : (JSON.parse(message) as Control));
  }
}
