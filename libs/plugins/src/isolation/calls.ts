/** What a gateway or worker asks of a plugin process, and what it is asked. Arguments that are no JSON are marked. */
import type { PluginContext } from '@harness/plugin-kit';
import type { Mirror, Path } from './mirror.ts';

/** What the module of a process offers. */
export interface Load {
  /** As `import` takes it. */
  specifier: string;
  /** A whole plugin, or the tools that a skill brings. */
  as: 'plugin' | 'tools';
}

export interface Loaded {
  mirror: Mirror;
}

/** For whom code runs: what it asks in turn is asked for the same. */
export interface Scope {
  /** Names the call in whose scope `ctx` is used. */
  scope: number;
  tenant?: string | undefined;
  /** W3C trace context of the request. */
  traceparent?: string | undefined;
}

export interface Call extends Scope {
  specifier: string;
  /** Of the export; `hooks` first: of what `register` returned. */
  path: Path;
  args: unknown[];
}

/** What a process must know before any plugin. */
export type Binding = Pick<PluginContext, 'role' | 'config'>;

export interface Registration extends Scope {
  specifier: string;
}

/** Fields of what `register` returned, with what each is; or, in a list, the one thing that was no object. */
export type RegisteredHooks = Record<string, 'function' | 'other' | [unknown]>;

/** A plugin uses its context. */
export interface ContextCall {
  /** Undefined outside of every call. */
  scope?: number | undefined;
  method: ContextMethod;
  args: unknown[];
}

export const contextMethods = [
  'invoker.invoke',
  'invoker.prewarm',
  'threads.get',
  'threads.history',
  'tasks.create',
  'tasks.get',
  'tasks.wait',
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
  'broadcast',
  'notify.resourceUpdated',
  'notify.listChanged',
] as const;
export type ContextMethod = (typeof contextMethods)[number];

/** An argument that stands for the plugin's context, or for a meta: its JSON fields. */
export type Marked = { $ctx: true } | { $meta: Record<string, unknown> };
export const isContext = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && '$ctx' in value;
export const metaIn = (value: unknown): Record<string, unknown> | undefined =>
  typeof value === 'object' && value !== null && '$meta' in value
    ? (value.$meta as Record<string, unknown>)
    : undefined;

/** An error in a log line: it is one again where the line is written. */
export interface LoggedError {
  $error: { name: string; message: string; stack?: string | undefined; code?: unknown };
}
