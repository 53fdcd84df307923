import type { PluginLogger, PluginLogLine } from '@harness/plugin-kit';

const levels = ['debug', 'info', 'warn', 'error'] as const;

/** Wraps a logger so that fields may come before the message, as in pino, or after it, as in many other loggers. */
export function createPluginLogger(logger: PluginLogger): PluginLogger {
  const lineOf =
    (level: (typeof levels)[number]): PluginLogLine =>
    (first, second) => {
      if (typeof first !== 'string') return logger[level](fieldsOf(first), second);
      return second === undefined ? logger[level](first) : logger[level](fieldsOf(second), first);
    };
  return { debug: lineOf('debug'), info: lineOf('info'), warn: lineOf('warn'), error: lineOf('error') };
}

function fieldsOf(value: unknown): object {
  if (value instanceof Error) return { err: value };
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : { details: value };
}
