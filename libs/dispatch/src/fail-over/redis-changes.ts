import type { Log } from '../redis/log.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';
import { untilReached } from '../redis/until-reached.ts';
import type { Losses } from './losses.ts';
import type { RedisServer } from './redis-server.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['note-server'] });

/** Hears to which Redis this process is connected, and tells when it has become another one. */
export interface RedisChanges {
  seen(server: RedisServer): void;
  onChange(listener: () => void): void;
}

/** What a change has to be told to is reached within this, or the next change tells it, ms. */
const tellMs = 60_000;

export function createRedisChanges(deps: { scripts: Scripts; losses: Losses; logger: Log }): RedisChanges {
  const { scripts, losses, logger } = deps;
  const listeners: (() => void)[] = [];
  let known: string | undefined;

  const changed = (from: string, to: string) => {
    logger.warn({ from, to }, 'redis: another one has taken over, or the same one has started anew');
    for (const listener of listeners) listener();
    const until = performance.now() + tellMs;
    untilReached(losses.count, () => performance.now() > until).catch((err) =>
      logger.error({ err }, 'redis: what it lost was not counted'),
    );
  };

  return {
    seen({ replicationId }) {
      const until = performance.now() + tellMs;
      untilReached(
        () => scripts.call(lua['note-server'], { replicationId }),
        () => performance.now() > until,
      ).catch((err) => logger.warn({ err }, 'redis: the change was not noted'));
      if (known !== undefined && known !== replicationId) changed(known, replicationId);
      known = replicationId;
    },
    onChange: (listener) => void listeners.push(listener),
  };
}
