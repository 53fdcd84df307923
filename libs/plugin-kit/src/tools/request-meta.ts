import type { PluginRequestMeta, Principal } from '../contract/contract.ts';

/** The caller's part of a meta; what is absent gets a harmless default. */
export type Given<Meta> = { [Field in keyof Meta]?: Meta[Field] | undefined };

/** Callers that stand for no key: the process itself, and tests. */
const nobody: Principal = Object.freeze({ keyId: 'none', tenant: 'default', scopes: Object.freeze([]) });
const nothing = Object.freeze({});

/** What every handler gets, whether or not a client is behind the call. */
export function requestMetaOf(given: Given<PluginRequestMeta>, signal: AbortSignal): PluginRequestMeta {
  return {
    principal: given.principal ?? nobody,
    signal,
    capabilities: given.capabilities ?? nothing,
    inputs: given.inputs ?? nothing,
    ...(given.state === undefined ? {} : { state: given.state }),
    ...(given.traceparent === undefined ? {} : { traceparent: given.traceparent }),
    log: given.log ?? (() => undefined),
  };
}
