import { AppError } from '@harness/contracts';
import type { IdleChild } from '../connection/child-slots.ts';
import type { Channel } from './channel.ts';
import type { SessionMarks } from './session-marks.ts';

/** Connections of threads of one upstream; one without a request for this long is closed, ms. */
const maxThreads = 50;
const idleMs = 30 * 60_000;

/** The channels of threads at one upstream: bounded, closed when they are idle. */
export interface ThreadChannels {
  count(): number;
  /** The thread's channel. Rejects with `plugin_unavailable` once after its state was lost, here or elsewhere, so that the caller knows. */
  channelOf(thread: string): Promise<Channel>;
  longestIdle(): IdleChild | undefined;
  /** The thread is gone. */
  end(thread: string): void;
  closeAll(): void;
  close(): Promise<void>;
}

/** Creates them, none open. */
export function createThreadChannels(deps: {
  name: string;
  create(): Channel;
  marks: SessionMarks;
}): ThreadChannels {
  const { name, create, marks } = deps;
  const channels = new Map<string, { channel: Channel; losses: number }>();
  let isClosed = false;
  const drop = (thread: string) => {
    const found = channels.get(thread);
    channels.delete(thread);
    return found?.channel.close();
  };
  const isIdle = ({ open, usedAt }: Channel, forMs: number) =>
    open === 0 && performance.now() - usedAt > forMs;
  const timer = setInterval(() => {
    for (const [thread, { channel }] of channels) if (isIdle(channel, idleMs)) void drop(thread);
  }, 60_000).unref();
  const makeRoom = () => {
    if (channels.size < maxThreads) return;
    const oldest = longestIdleOf(() => true);
    if (!oldest)
      throw new AppError(
        'limit_reached',
        `${name} serves ${maxThreads} threads at the same time. Try again later.`,
      );
    void drop(oldest[0]);
  };
  const opened = (thread: string) => {
    makeRoom();
    const made = { channel: create(), losses: 0 };
    channels.set(thread, made);
    return made;
  };
  const lost = () =>
    new AppError(
      'plugin_unavailable',
      `${name} was started anew: what it held for this thread is lost, and this call was not made. Begin again.`,
    );
  const longestIdleOf = (isChosen: (channel: Channel) => boolean) =>
    [...channels]
      .filter(([, { channel }]) => channel.open === 0 && isChosen(channel))
      .sort(([, one], [, other]) => one.channel.usedAt - other.channel.usedAt)[0];
  return {
    count: () => [...channels.values()].filter(({ channel }) => channel.connection).length,
    async channelOf(thread) {
      const known = channels.get(thread);
      if (known) {
        if (known.channel.losses === known.losses) return known.channel;
        known.losses = known.channel.losses;
        throw lost();
      }
      // Its session was at another gateway or another process, or was closed for other threads.
      if (await marks.has(thread)) {
        await marks.delete(thread);
        throw lost();
      }
      await marks.set(thread);
      if (isClosed) throw new AppError('plugin_unavailable', `${name} is not connected: it is closed.`);
      const { channel } = channels.get(thread) ?? opened(thread);
      return channel;
    },
    longestIdle(): IdleChild | undefined {
      const [thread, found] = longestIdleOf(({ connection }) => connection !== undefined) ?? [];
      if (thread === undefined || !found) return undefined;
      return { idleSince: found.channel.usedAt, end: async () => drop(thread) };
    },
    end(thread) {
      void drop(thread);
      marks.delete(thread).catch(() => undefined); // it expires anyway
    },
    closeAll() {
      for (const thread of [...channels.keys()]) void drop(thread);
    },
    async close() {
      isClosed = true;
      clearInterval(timer);
      await Promise.all([...channels.keys()].map(drop));
    },
  };
}
