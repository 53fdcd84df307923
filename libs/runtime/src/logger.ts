import { type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/** Structured logs on standard output, one JSON object a line. Secrets are cut where they have a known path. */
export function createLogger(service: string, level: string): Logger {
  return pino({
    name: service,
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: {
      paths: ['req.headers.authorization', 'headers.authorization', '*.token', '*.apiKey'],
      censor: '[cut]',
    },
  });
}
