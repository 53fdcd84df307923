import { unwatchFile, watchFile } from 'node:fs';
import type { Logger } from '@harness/runtime';
import { type ApiKey, loadApiKeys } from './api-keys.ts';

/** The keys of a file that its owner may change at any time. */
export interface KeyFile {
  current(): readonly ApiKey[];
  /** Calls the listener after each change. */
  onChange(listener: () => void): void;
  close(): void;
}

/** A change counts within this and the time to read the file, ms. */
const lookMs = 1_000;

/**
 * Follows a key file, by looking at it: that works for files that are replaced, and in containers. A file that cannot be
 * read or is not valid is logged, and the keys of before stay: a slip of the pen must not lock everybody out.
 */
export function followKeyFile(
  file: string,
  { keys, logger }: { keys: readonly ApiKey[]; logger: Pick<Logger, 'info' | 'error'> },
): KeyFile {
  let current = keys;
  const listeners: (() => void)[] = [];
  const read = async () => {
    try {
      const next = await loadApiKeys(file);
      if (JSON.stringify(next) === JSON.stringify(current)) return;
      current = next;
      for (const listener of listeners) listener();
      logger.info({ file, keys: next.map(({ id }) => id) }, 'API keys changed');
    } catch (error) {
      logger.error({ err: error, file }, 'API keys not changed: correct the file');
    }
  };
  const onLook = () => void read();
  watchFile(file, { interval: lookMs, persistent: false }, onLook);
  return {
    current: () => current,
    onChange: (listener) => void listeners.push(listener),
    close: () => unwatchFile(file, onLook),
  };
}
