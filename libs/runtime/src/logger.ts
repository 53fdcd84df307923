import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';

export type { Logger } from 'pino';

/** Structured logs, one JSON object a line, on standard output unless told. Secrets are cut where they have a known path. */
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

/** An error of the Redis client carries its command, with what people wrote as arguments. */
function withoutCommand(thrown: Error): object {
  const {
    command: _,
    previousErrors: __,
    ...told
  } = stdSerializers.err(thrown) as unknown as Record<string, unknown>;
  return told;
}
