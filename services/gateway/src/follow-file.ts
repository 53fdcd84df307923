import { unwatchFile, watchFile } from 'node:fs';
import type { Logger } from '@harness/runtime';

/** The content of a file that its owner may change at any time. */
export interface FollowedFile<Content> {
  current(): Content;
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

/** A change counts within this and the time to read the file, ms. */
const lookMs = 1_000;

/**
 * Follows a file by polling it, which also works for replaced files and in containers. A file that cannot be read or is
 * not valid is logged and changes nothing: a typing error must not lock all callers out.
 */
export function followFile<Content>(file: string, options: FollowOptions<Content>): FollowedFile<Content> {
  const { load, what, logger, summaryOf = () => ({}) } = options;
  let current = options.initial;
  const listeners: (() => void)[] = [];
  const read = async () => {
    try {
      const next = await load(file);
      if (JSON.stringify(next) === JSON.stringify(current)) return;
      current = next;
      for (const listener of listeners) listener();
      logger.info({ file, ...summaryOf(next) }, `${what} changed`);
    } catch (error) {
      logger.error({ err: error, file }, `${what} not changed: correct the file`);
    }
  };
  const onLook = () => void read();
  watchFile(file, { interval: lookMs, persistent: false }, onLook);
  onLook(); // the file may have changed while the process waited for Redis
  return {
    current: () => current,
    onChange: (listener) => void listeners.push(listener),
    close: () => unwatchFile(file, onLook),
  };
}
