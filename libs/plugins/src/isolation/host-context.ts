/** `ctx` inside a plugin process. It forwards every call to the gateway or worker that owns the process. */
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

/** The scope of the call in which the plugin's code runs. */
export const callScope = new AsyncLocalStorage<number>();

/** Creates the context; `own` has what the process knows without asking. */
export function createHostContext(peer: Peer, own: Pick<PluginContext, 'role' | 'config'>): PluginContext {
  const ask = (method: ContextMethod, args: unknown[], asking?: Asking): Promise<unknown> => {
    const call: ContextCall = { scope: callScope.getStore(), method, args };
    return peer.ask('ctx', call, asking);
  };
  /** Forwards a method whose arguments are JSON. */
  const asking =
    (method: ContextMethod) =>
    (...args: unknown[]) =>
      ask(method, args);
  /** Forwards a method whose last argument may contain a signal. */
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
      watch: asking('tasks.watch'),
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
    // The owner refuses it to a plugin that does not declare it.
    global: {
      store: {
        get: asking('global.store.get'),
        set: asking('global.store.set'),
        delete: asking('global.store.delete'),
      },
    },
    broadcast: asking('broadcast'),
    notify: { resourceUpdated: asking('notify.resourceUpdated'), listChanged: asking('notify.listChanged') },
  };
  // The forwarded functions have the types of the owner's functions.
  return context as unknown as PluginContext;
}

function createHostLogger(peer: Peer): PluginLogger {
  const lineOf =
    (level: keyof PluginLogger): PluginLogLine =>
    (...args) => {
      // A log line that cannot be sent must not fail the call.
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
