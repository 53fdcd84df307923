import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';

/** The logger of pino. */
export type { Logger } from 'pino';

/**
 * Creates a logger: one JSON object per line, to standard output unless `destination` is given. Secrets at
 * known paths are redacted.
 */
export function createLogger(service: string, level: string, destination?: DestinationStream): Logger {
  const options = {
    name: service,
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: withoutCommand },
    redact: {
      paths: ['req.headers.authorization', 'headers.authorization', '*.token', '*.apiKey'],
      censor: '[cut]',
    },
  };
  return destination ? pino(options, destination) : pino(options);
}

/** An error of the Redis client carries its command, whose arguments are user data. */
function withoutCommand(thrown: Error): object {
  const {
    command: _,
    previousErrors: __,
    ...told
  } = stdSerializers.err(thrown) as unknown as Record<string, unknown>;
  return told;
}
