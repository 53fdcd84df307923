/** What crosses a process border: schemas and their types, the error table, event names, ids, thread tokens. */
export * from './bus.ts';
export * from './bus-tools.ts';
export * from './errors.ts';
export * from './events.ts';
export * from './ids.ts';
export * from './json-depth.ts';
export * from './quote.ts';
export * from './readiness.ts';
export * from './requests.ts';
export * from './resources.ts';
export * from './review.ts';
export * from './text.ts';
export * from './thread-token.ts';
