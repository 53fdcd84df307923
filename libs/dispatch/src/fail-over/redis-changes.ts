/**
 * Notices when another Redis has taken over, by a fail-over, or when Redis was restarted.
 *
 * This folder:
 *   redis-server.ts  which Redis process and data history a connection talks to
 *   acks.ts          waits until replicas have a write before its outcome is reported
 *   losses.ts        counts messages that a fail-over took back
 *   note-server.lua  script: records the replication id and counts its changes
 */
import type { Log } from '../redis/log.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';
import { untilReached } from '../redis/until-reached.ts';
import type { Losses } from './losses.ts';
import type { RedisServer } from './redis-server.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['note-server'] });

/**
 * Receives which Redis this process is connected to, and notifies listeners of each change.
 */
export interface RedisChanges {
  /** The connection is to this server now. */
  seen(server: RedisServer): void;
  /** Adds a listener, called at each change. */
  onChange(listener: () => void): void;
}

/** How long the steps after a change are retried, ms; the next change does them otherwise. */
const retryForMs = 60_000;

/** At a change, `losses` counts the messages that it took back. */
export function createRedisChanges(deps: { scripts: Scripts; losses: Losses; logger: Log }): RedisChanges {
  const { scripts, losses, logger } = deps;
  const listeners: (() => void)[] = [];
  let known: string | undefined;

  const changed = (from: string, to: string) => {
    logger.warn({ from, to }, 'redis: another one has taken over, or the same one was restarted');
    for (const listener of listeners) listener();
    const until = performance.now() + retryForMs;
    untilReached(losses.count, () => performance.now() > until).catch((err) =>
      logger.error({ err }, 'redis: lost messages were not counted'),
    );
  };

  return {
    seen({ replicationId }) {
      const until = performance.now() + retryForMs;
      untilReached(
        () => scripts.call(lua['note-server'], { replicationId }),
        () => performance.now() > until,
      ).catch((err) => logger.warn({ err }, 'redis: the change was not recorded'));
      if (known !== undefined && known !== replicationId) changed(known, replicationId);
      known = replicationId;
    },
    onChange: (listener) => void listeners.push(listener),
  };
}
