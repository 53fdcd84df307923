import type { PluginRequestMeta, Principal } from '../contract/contract.ts';

/** The caller's part of a meta. Absent fields get a harmless default. */
export type Given<Meta> = { [Field in keyof Meta]?: Meta[Field] | undefined };

/** The principal of calls without a key: those of the process itself, and of tests. */
const noPrincipal: Principal = Object.freeze({ keyId: 'none', tenant: 'default', scopes: Object.freeze([]) });
const nothing = Object.freeze({});

/** Completes the meta for a handler, whether or not a client makes the call. */
export function requestMetaOf(given: Given<PluginRequestMeta>, signal: AbortSignal): PluginRequestMeta {
  return {
    principal: given.principal ?? noPrincipal,
    signal,
    ...(given.threadId === undefined ? {} : { threadId: given.threadId }),
    capabilities: given.capabilities ?? nothing,
    inputs: given.inputs ?? nothing,
    ...(given.state === undefined ? {} : { state: given.state }),
    ...(given.traceparent === undefined ? {} : { traceparent: given.traceparent }),
    log: given.log ?? (() => undefined),
  };
}
