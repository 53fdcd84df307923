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
 * Follows a key file by polling it, which also works for replaced files and in containers. `keys` are those read at the
 * start of the process. A file that cannot be read or is not valid is logged and changes nothing: a typing error must not
 * lock all callers out.
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
  onLook(); // the file may have changed while the process waited for Redis
  return {
    current: () => current,
    onChange: (listener) => void listeners.push(listener),
    close: () => unwatchFile(file, onLook),
  };
}
