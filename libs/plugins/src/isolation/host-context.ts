/** `ctx` inside a plugin process: whatever it is asked, the gateway or worker does. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type {
  InvokeMessage,
  InvokeOptions,
  PluginContext,
  PluginLogger,
  PluginLogLine,
} from '@harness/plugin-kit';
import type { ContextCall, ContextMethod, LoggedError } from './calls.ts';
import type { Asking, Peer } from './peer.ts';

/** The call in which code of the plugin runs. */
export const callScope = new AsyncLocalStorage<number>();

export function createHostContext(peer: Peer, own: Pick<PluginContext, 'role' | 'config'>): PluginContext {
  const ask = (method: ContextMethod, args: unknown[], asking?: Asking): Promise<unknown> => {
    const call: ContextCall = { scope: callScope.getStore(), method, args };
    return peer.ask('ctx', call, asking);
  };
  /** A function of the context whose arguments are JSON. */
  const asking =
    (method: ContextMethod) =>
    (...args: unknown[]) =>
      ask(method, args);
  /** The same; the last argument may have a signal. */
  const askingUntil =
    (method: ContextMethod) =>
    (...args: unknown[]) => {
      const { signal, ...rest } = (args.at(-1) ?? {}) as { signal?: AbortSignal };
      return ask(method, [...args.slice(0, -1), rest], { signal });
    };
  const context = {
    ...own,
    logger: createHostLogger(peer),
    invoker: {
      invoke(prompt: string, { onMessage, ...options }: InvokeOptions = {}) {
        const onEvent = (_: string, message: unknown) => onMessage?.(message as InvokeMessage);
        return ask('invoker.invoke', [prompt, options], onMessage && { onEvent });
      },
      prewarm: asking('invoker.prewarm'),
    },
    threads: { get: asking('threads.get'), history: asking('threads.history') },
    tasks: {
      create: asking('tasks.create'),
      get: asking('tasks.get'),
      wait: askingUntil('tasks.wait'),
      checkin: asking('tasks.checkin'),
    },
    bus: {
      submit: asking('bus.submit'),
      register: asking('bus.register'),
      poll: askingUntil('bus.poll'),
      ack: asking('bus.ack'),
      heartbeat: asking('bus.heartbeat'),
      done: asking('bus.done'),
      failed: asking('bus.failed'),
      reset: asking('bus.reset'),
      retry: asking('bus.retry'),
      stats: asking('bus.stats'),
      workers: asking('bus.workers'),
    },
    tools: {
      call: asking('tools.call'),
      narrow: ({ runId }: { runId?: string }, tools: readonly string[]) =>
        ask('tools.narrow', [{ runId }, tools]),
    },
    store: { get: asking('store.get'), set: asking('store.set'), delete: asking('store.delete') },
    broadcast: asking('broadcast'),
    notify: { resourceUpdated: asking('notify.resourceUpdated'), listChanged: asking('notify.listChanged') },
  };
  // What crosses is JSON: the types are those of the functions on the other side.
  return context as unknown as PluginContext;
}

function createHostLogger(peer: Peer): PluginLogger {
  const lineOf =
    (level: keyof PluginLogger): PluginLogLine =>
    (...args) => {
      // A line that cannot be passed on is not worth a failure.
      peer.ask('log', { level, args: args.map(loggable) }).catch(() => undefined);
    };
  return { debug: lineOf('debug'), info: lineOf('info'), warn: lineOf('warn'), error: lineOf('error') };
}

function loggable(value: unknown): unknown {
  if (value instanceof Error) return loggedErrorOf(value);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, field]) => [
    name,
    field instanceof Error ? loggedErrorOf(field) : field,
  ]);
  return Object.fromEntries(entries);
}

const loggedErrorOf = ({ name, message, stack, ...rest }: Error & { code?: unknown }): LoggedError => ({
  $error: { name, message, stack, code: rest.code },
});
