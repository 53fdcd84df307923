/** The requests between a gateway or worker and a plugin process. Arguments that are not JSON are replaced by markers. */
import type { PluginContext } from '@harness/plugin-kit';
import type { Mirror, Path } from './mirror.ts';

/** Request: load a module. */
export interface Load {
  /** For `import`. */
  specifier: string;
  /** A whole plugin, or the tools of a skill. */
  as: 'plugin' | 'tools';
}

/** Response to `Load`. */
export interface Loaded {
  mirror: Mirror;
}

/** Identifies for whom plugin code runs; requests that the code makes carry the same scope. */
export interface Scope {
  /** Identifies the call in which `ctx` is used. */
  scope: number;
  tenant?: string | undefined;
  /** W3C trace context of the request. */
  traceparent?: string | undefined;
}

/** Request: call a function of a module. */
export interface Call extends Scope {
  specifier: string;
  /** Path from the export; if it begins with `hooks`, from the return value of `register`. */
  path: Path;
  args: unknown[];
}

/** Request: what a process needs to know before it loads a plugin. */
export type Binding = Pick<PluginContext, 'role' | 'config'>;

/** Request: call `register` of a plugin. */
export interface Registration extends Scope {
  specifier: string;
}

/** The fields that `register` returned, with their kind. If it returned no object: `returned` with the value in a list. */
export type RegisteredHooks = Record<string, 'function' | 'other' | [unknown]>;

/** Request of a plugin process: call a method of the plugin's context. */
export interface ContextCall {
  /** Undefined outside of calls. */
  scope?: number | undefined;
  method: ContextMethod;
  args: unknown[];
}

/** The methods of the context that a plugin process may call. */
export const contextMethods = [
  'invoker.invoke',
  'invoker.prewarm',
  'threads.get',
  'threads.history',
  'tasks.create',
  'tasks.get',
  'tasks.wait',
  'tasks.watch',
  'tasks.checkin',
  'bus.submit',
  'bus.register',
  'bus.poll',
  'bus.ack',
  'bus.heartbeat',
  'bus.done',
  'bus.failed',
  'bus.reset',
  'bus.retry',
  'bus.stats',
  'bus.workers',
  'tools.call',
  'tools.narrow',
  'store.get',
  'store.set',
  'store.delete',
  'global.store.get',
  'global.store.set',
  'global.store.delete',
  'broadcast',
  'notify.resourceUpdated',
  'notify.listChanged',
] as const;
/** One of `contextMethods`. */
export type ContextMethod = (typeof contextMethods)[number];

/** A marker for the plugin's context, or for a meta, of which it has the JSON fields. */
export type Marked = { $ctx: true } | { $meta: Record<string, unknown> };
/** Whether an argument is the marker of a context. */
export const isContext = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && '$ctx' in value;
/** The fields of a meta, if the argument is its marker. */
export const metaIn = (value: unknown): Record<string, unknown> | undefined =>
  typeof value === 'object' && value !== null && '$meta' in value
    ? (value.$meta as Record<string, unknown>)
    : undefined;

/** An error in a log line; the owner converts it back to an Error before it writes the line. */
export interface LoggedError {
  $error: { name: string; message: string; stack?: string | undefined; code?: unknown };
}
