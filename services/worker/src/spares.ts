import type { Logger } from '@harness/runtime';
import type { Opened } from './open-session.ts';

export interface Spares {
  /** A started session that belongs to no thread yet; another is started in its place. */
  take(): Opened | undefined;
  count(): number;
  close(): void;
}

/** After a failed start, the next try comes this much later, ms. */
const retryMs = 5_000;

/** Keeps a stock of sessions of the default profile, filled in the background, one start at a time. */
export function createSpares(deps: { wanted: number; open(): Promise<Opened>; logger: Logger }): Spares {
  const stock: Opened[] = [];
  let filling = false;
  let closed = false;
  const fill = async () => {
    if (filling || closed) return;
    filling = true;
    try {
      while (!closed && stock.length < deps.wanted) {
        const opened = await deps.open();
        if (closed) opened.session.kill();
        else stock.push(opened);
      }
    } catch (error) {
      deps.logger.warn({ err: error }, 'spare session not started');
      setTimeout(() => void fill(), retryMs).unref();
    } finally {
      filling = false;
    }
  };
  void fill();
  return {
    take() {
      let opened = stock.shift();
      while (opened?.session.ended) opened = stock.shift();
      void fill();
      return opened;
    },
    count: () => stock.length,
    close() {
      closed = true;
      for (const { session } of stock.splice(0)) session.kill();
    },
  };
}
