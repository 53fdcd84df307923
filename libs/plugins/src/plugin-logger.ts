import type { PluginLogger, PluginLogLine } from '@harness/plugin-kit';

const levels = ['debug', 'info', 'warn', 'error'] as const;

/** A logger that takes fields before the message, as pino does, and behind it, as many others do; neither is lost. */
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
