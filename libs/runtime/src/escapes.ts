import type { Logger } from './logs/logger.ts';

/** Uncaught errors: a throw in a timer, an unhandled rejection. */
export interface Escapes {
  /** Calls the listener with each uncaught error, including those before it was added. */
  onEscape(listener: (thrown: unknown) => void): void;
}

const maxRemembered = 100;

/**
 * Logs uncaught errors from now on, instead of ending the process at once. The listener must end it in an
 * orderly way, since its state is unknown after such an error.
 */
export function watchEscapes(logger: Logger): Escapes {
  const listeners = new Set<(thrown: unknown) => void>();
  const escaped: unknown[] = [];
  const note = (kind: string) => (thrown: unknown) => {
    const err = thrown instanceof Error ? thrown : new Error(String(thrown));
    logger.fatal({ err, kind }, 'uncaught error: this process shuts down and must be started again');
    if (escaped.length < maxRemembered) escaped.push(thrown);
    for (const listener of listeners) listener(thrown);
  };
  process.on('uncaughtException', note('uncaught exception'));
  process.on('unhandledRejection', note('unhandled rejection'));
  return {
    onEscape(listener) {
      listeners.add(listener);
      for (const thrown of escaped) listener(thrown);
    },
  };
}
