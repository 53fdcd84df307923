/**
 * The life of a process.
 *
 *   config.ts          configuration from environment and command line
 *   fleet-limits.ts    limits that gateways and workers must agree on
 *   files/             configuration of workspaces: which threads have files, and where
 *   logs/              structured logs, and where their lines go
 *   secrets/           replaces secrets in errors, logs and records
 *   redis.ts           connections to Redis
 *   redis-address.ts   the forms of REDIS_URL
 *   embedded-redis.ts  a private redis-server
 *   counts.ts          counts by name
 *   child.ts           a service of the fleet as a child process
 *   pdeathsig.ts       ends a child with its parent
 *   listen.ts          errors of a server that cannot listen
 *   free-port.ts       a free port, for servers that take no port 0
 *   escapes.ts         uncaught errors
 *   shutdown.ts        orderly exit
 *   event-stream.ts    reads the SSE stream of a gateway
 *   tracing/           spans of OpenTelemetry
 */
export * from './child.ts';
export * from './config.ts';
export * from './counts.ts';
export * from './embedded-redis.ts';
export * from './escapes.ts';
export * from './event-stream.ts';
export * from './files/workspaces-config.ts';
export * from './fleet-limits.ts';
export * from './free-port.ts';
export * from './listen.ts';
export * from './logs/at-most-once-per-second.ts';
export * from './logs/line-output.ts';
export * from './logs/logger.ts';
export * from './logs/standard-output.ts';
export * from './pdeathsig.ts';
export * from './redis.ts';
export * from './redis-address.ts';
export * from './secrets/scrubber.ts';
export * from './secrets/secret-settings.ts';
export * from './shutdown.ts';
export * from './tracing/tracing.ts';
export * from './tracing/tracing-config.ts';
