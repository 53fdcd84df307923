import { unwatchFile, watchFile } from 'node:fs';
import type { Logger } from '@harness/runtime';

/** The content of a file that its owner may change at any time. */
export interface FollowedFile<Content> {
  current(): Content;
  /** Why the file as it is now is not used; undefined while it is. */
  problem?(): string | undefined;
  /** Calls the listener after each change. */
  onChange(listener: () => void): void;
  close(): void;
}

/** How a file is followed. */
export interface FollowOptions<Content> {
  /** Reads and checks the whole file; throws for one that is not valid. */
  load(file: string): Promise<Content>;
  /** The content read at the start of the process. */
  initial: Content;
  /** What the file holds, for the log: `API keys`. */
  what: string;
  /** The log line for new content, which itself may hold secrets. */
  summaryOf?: (content: Content) => object;
  logger: Pick<Logger, 'info' | 'error'>;
}

/** Interval between checks of the file, ms: a change takes effect within this and the time to read the file. */
const pollMs = 1_000;

/**
 * Follows a file by polling it, which also works for replaced files and in containers. A file that cannot be read or is
 * not valid is logged and changes nothing: a typing error must not lock all callers out.
 */
export function followFile<Content>(file: string, options: FollowOptions<Content>): FollowedFile<Content> {
  const { load, what, logger, summaryOf = () => ({}) } = options;
  let current = options.initial;
  let problem: string | undefined;
  const listeners: (() => void)[] = [];
  const read = async () => {
    try {
      const next = await load(file);
      problem = undefined;
      if (JSON.stringify(next) === JSON.stringify(current)) return;
      current = next;
      for (const listener of listeners) listener();
      logger.info({ file, ...summaryOf(next) }, `${what} changed`);
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
      logger.error({ err: error, file }, `${what} not changed: correct the file`);
    }
  };
  const onPoll = () => void read();
  watchFile(file, { interval: pollMs, persistent: false }, onPoll);
  onPoll(); // the file may have changed while the process waited for Redis
  return {
    current: () => current,
    problem: () => problem,
    onChange: (listener) => void listeners.push(listener),
    close: () => unwatchFile(file, onPoll),
  };
}
