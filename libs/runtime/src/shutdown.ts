import type { Escapes } from './escapes.ts';
import type { Logger } from './logs/logger.ts';
import { createScrubber } from './secrets/scrubber.ts';

/**
 * Runs `close` once when the process is asked to end (SIGTERM, SIGINT), its supervisor has ended (IPC channel
 * closed), or an error was uncaught, and then exits: with 1 after an uncaught error, so that a supervisor
 * starts it again. Exits with 1 after `limitMs` in any case.
 */
export function onShutdown(
  close: () => Promise<void>,
  deps: { logger: Logger; limitMs: number; escapes: Escapes },
): void {
  let closing = false;
  const shutDown = async (why: string, code = 0) => {
    if (closing) return;
    closing = true;
    deps.logger.info({ why }, 'shutting down');
    setTimeout(() => {
      deps.logger.error({ limitMs: deps.limitMs }, 'shutdown took too long; exiting anyway');
      process.exit(1);
    }, deps.limitMs).unref();
    await close().catch((error) => deps.logger.error({ err: error }, 'shutdown failed'));
    process.exit(code);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void shutDown(signal));
  deps.escapes.onEscape(() => void shutDown('something escaped', 1));
  if (process.connected) process.on('disconnect', () => void shutDown('supervisor gone'));
}

/**
 * Runs a service's `main`. A ConfigError is printed as its message, any other error with its stack; both end
 * the process with 1.
 */
export function runMain(main: () => Promise<void>): void {
  main().catch((error: unknown) => {
    const known = error instanceof Error && error.name === 'ConfigError';
    const text = known ? error.message : error instanceof Error ? `${error.stack}` : String(error);
    process.stderr.write(`${createScrubber().text(text)}\n`);
    process.exit(1);
  });
}
