import type { Logger } from './logger.ts';

/** What nobody caught: a throw in a timer, a rejection that nobody awaited. */
export interface Escapes {
  /** Called with each, also with those that came before it listened. */
  onEscape(listener: (thrown: unknown) => void): void;
}

const maxRemembered = 100;

/**
 * From now on what escapes is logged and does not end the process at once: whoever listens ends it in good order, for
 * nobody knows what it left behind.
 */
export function watchEscapes(logger: Logger): Escapes {
  const listeners = new Set<(thrown: unknown) => void>();
  const escaped: unknown[] = [];
  const note = (kind: string) => (thrown: unknown) => {
    const err = thrown instanceof Error ? thrown : new Error(String(thrown));
    logger.fatal({ err, kind }, 'escaped: this process ends in good order and is to be started again');
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
