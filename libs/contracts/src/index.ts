/**
 * What crosses a process boundary.
 *
 *   errors.ts        error codes with HTTP status and retry; AppError
 *   resources.ts     schemas of threads, runs, tasks, sessions, workers, plugins
 *   upstream.ts      schema of an upstream
 *   tool-lock-state.ts  what differs from the tool lock
 *   audit-record.ts  schema of a record of the audit
 *   requests.ts      schemas of what callers send
 *   events.ts        types and fields of events
 *   figures.ts       schemas of the fleet's figures and measured promises
 *   bus.ts           schemas of the bus of external workers
 *   bus-tools.ts     the bus's tools: MCP, REST and documentation from one table
 *   ids.ts           formats of ids, new and derived ids
 *   thread-token.ts  the tokens of sessions
 *   readiness.ts     the body of /readyz
 *   review.ts        the prompt of a reviewer
 *   files/           versions of a thread's files
 *   text/            cleaning, quoting, cutting and bounding text and JSON
 */
export * from './audit-record.ts';
export * from './bus.ts';
export * from './bus-tools.ts';
export * from './errors.ts';
export * from './events.ts';
export * from './figures.ts';
export * from './files/built-in-tools.ts';
export * from './files/files.ts';
export * from './ids.ts';
export * from './readiness.ts';
export * from './requests.ts';
export * from './resources.ts';
export * from './review.ts';
export * from './text/clean-text.ts';
export * from './text/json-depth.ts';
export * from './text/json-object.ts';
export * from './text/quote.ts';
export * from './text/text.ts';
export * from './thread-token.ts';
export * from './tool-lock-state.ts';
export * from './upstream.ts';
