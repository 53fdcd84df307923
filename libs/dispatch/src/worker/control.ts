import type { Feed } from '../redis/feed.ts';
import type { Keys } from '../redis/keys.ts';

/** What a worker is told in a hurry; the flags in Redis are the truth. */
export type Control =
  | { action: 'cancel' | 'interrupt'; threadId: string; runId: string }
  | { action: 'drop'; threadId: string }
  | { action: 'drain' }
  /** Messages may have been missed: what they said is to be read where it is kept. */
  | { action: 'missed' };

/** Calls `onControl` for each message on the worker's control channel until `signal` aborts. */
export async function followControl(
  deps: { feed: Feed; keys: Keys },
  workerId: string,
  onControl: (control: Control) => void,
  signal: AbortSignal,
): Promise<void> {
  for await (const message of await deps.feed.listen([deps.keys.of('ctl', workerId)], signal)) {
    onControl(message === '' ? { action: 'missed' } : (JSON.parse(message) as Control));
  }
}
