/** How a process lives: configuration, logs, its Redis connection, an embedded Redis, its end. */
export * from './child.ts';
export * from './config.ts';
export * from './embedded-redis.ts';
export * from './escapes.ts';
export * from './event-stream.ts';
export * from './fleet-limits.ts';
export * from './listen.ts';
export * from './logger.ts';
export * from './pdeathsig.ts';
export * from './redis.ts';
export * from './redis-address.ts';
export * from './shutdown.ts';
