/** A plugin process as its owner uses it: modules whose functions run there, and the context that they use here. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { AppError } from '@harness/contracts';
import type { PluginContext, PluginLogger } from '@harness/plugin-kit';
import {
  type Call,
  type ContextCall,
  contextMethods,
  type Load,
  type Loaded,
  type LoggedError,
  type RegisteredHooks,
  type Scope,
} from './calls.ts';
import { createHostProcess, type HostProcess } from './host-process.ts';
import { type Path, revive } from './mirror.ts';
import type { Asking, Handler } from './peer.ts';

/** What a remote host needs. */
export interface RemoteHostOptions {
  /** The plugin's name in messages. */
  name(): string;
  env: Record<string, string>;
  memoryMb: number;
  hangLimitMs?: number;
  logger: PluginLogger;
  role: PluginContext['role'];
  config: PluginContext['config'];
  /** The tenant and trace context for which code runs now. */
  scopeNow(): Omit<Scope, 'scope'>;
}

/** A plugin process, and the modules in it. */
export interface RemoteHost {
  process: HostProcess;
  /** Loads a module; returns its export, whose functions run in the process. */
  load(load: Load): Promise<unknown>;
  /** Registers the plugin of a module, now and in each restarted process. */
  register(specifier: string, ctx: PluginContext): Promise<RegisteredHooks>;
  /** Starts the plugin, now and in each restarted process. */
  start(specifier: string): Promise<void>;
  /** A function that calls a function of the module, or a hook that it has registered. */
  call(specifier: string, path: Path): (...args: unknown[]) => Promise<unknown>;
}

/** Functions of a meta that a plugin may call. */
const notifiable = ['progress', 'log', 'releaseStream'];
const levels = ['debug', 'info', 'warn', 'error'];
/** Ended calls that are remembered, because their code may still use the context. */
const maxEnded = 10_000;

/** Creates a remote host; the process starts with the first plugin that is loaded. */
export function createRemoteHost(options: RemoteHostOptions): RemoteHost {
  const { role, config } = options;
  let ctx: PluginContext | undefined;
  /** Steps that each new process executes before it accepts calls. */
  const preparation: ((ask: HostProcess['ask']) => Promise<unknown>)[] = [
    (ask) => ask('bind', { role, config }),
  ];
  const scopes = createScopes();
  const openScope = (): Scope => ({ scope: scopes.open(), ...options.scopeNow() });

  const useContext = async ({ scope, method, args }: ContextCall, incoming: Parameters<Handler>[2]) => {
    if (!ctx) throw new AppError('unavailable', 'The plugin has no context before it is registered.');
    if (!contextMethods.includes(method))
      throw new AppError('invalid_request', `The context has no ${method}.`);
    const names = method.split('.');
    const name = names.pop() as string;
    const owner = names.reduce<object | undefined>((part, inner) => part && Reflect.get(part, inner), ctx);
    if (!owner)
      throw new AppError('forbidden', `ctx.${names.join('.')} is only for plugins that declare \`global\`.`);
    const run = Reflect.get(owner, name) as (...args: unknown[]) => Promise<unknown>;
    const given = argumentsOf(method, args, incoming);
    return scopes.run(scope, () => run.apply(owner, given));
  };

  const mayLog = createLineBudget((dropped) =>
    (ctx?.logger ?? options.logger).warn(
      { dropped },
      'lines were dropped: the plugin logs too many per second',
    ),
  );
  const process = createHostProcess({
    ...options,
    async handle(method, args, incoming) {
      if (method === 'ctx') return useContext(args as ContextCall, incoming);
      if (!mayLog()) return undefined;
      const { level, args: line } = args as { level: keyof PluginLogger; args: [object | string, unknown?] };
      const [first, second] = line.map(revivedOf) as typeof line;
      const logger = ctx?.logger ?? options.logger;
      if (levels.includes(level)) logger[level](first, second);
      return undefined;
    },
    async prepare(ask) {
      for (const step of preparation) await step(ask);
    },
  });

  const call: RemoteHost['call'] =
    (specifier, path) =>
    async (...args) => {
      const asking: Asking = {};
      const sent = args.map((arg) => {
        if (isContext(arg)) {
          ctx ??= arg; // the code of skills uses the context of the plugin `skill`
          return { $ctx: true };
        }
        if (!hasSignal(arg)) return arg;
        asking.signal = arg.signal;
        asking.onEvent = (name, value) => {
          const notify = notifiable.includes(name) ? arg[name] : undefined;
          if (typeof notify === 'function') notify(...(value as unknown[]));
        };
        // JSON drops the functions of the meta.
        return { $meta: { ...arg, signal: undefined } };
      });
      const scope = openScope();
      const request: Call = { ...scope, specifier, path, args: sent };
      const { tenant } = scope;
      return process.ask('call', request, { ...asking, tenant }).finally(() => scopes.end(scope.scope));
    };
  /** Executes a step now, and once in each restarted process. */
  const inEach = async (step: (ask: HostProcess['ask']) => Promise<unknown>) => {
    const done = await step(process.ask);
    preparation.push(step);
    return done;
  };

  return {
    process,
    call,
    async load(wish) {
      let mirror: Loaded['mirror'] | undefined;
      const step = async (ask: HostProcess['ask']) => {
        const loaded = (await ask('load', wish)) as Loaded;
        mirror ??= loaded.mirror;
      };
      if (wish.as === 'tools') await step(process.ask);
      else {
        preparation.push(step);
        await process.start();
      }
      return revive(mirror as Loaded['mirror'], (path) => call(wish.specifier, path));
    },
    async register(specifier, registered) {
      ctx = registered;
      const step = (ask: HostProcess['ask']) => ask('register', { ...openScope(), specifier });
      return (await inEach(step)) as RegisteredHooks;
    },
    async start(specifier) {
      const args = [{ $ctx: true }];
      await inEach((ask) => ask('call', { ...openScope(), specifier, path: ['start'], args } satisfies Call));
    },
  };
}

/** Most lines that a plugin process logs within a second through its context. */
const maxLines = 200;

/** Bounds the lines of each second: returns whether one more may be written. The next one reports how many were dropped. */
function createLineBudget(onDropped: (count: number) => void): () => boolean {
  let startedAt = performance.now();
  let lines = 0;
  return () => {
    const now = performance.now();
    if (now - startedAt > 1_000) {
      if (lines > maxLines) onDropped(lines - maxLines);
      startedAt = now;
      lines = 0;
    }
    return ++lines <= maxLines;
  };
}

/**
 * The async context of each call, in which the plugin's use of `ctx` runs, so that it has the rights and the tenant of the
 * call. Ended calls are remembered for a while, because their code may still use the context.
 */
function createScopes() {
  const active = new Map<number, <T>(run: () => T) => T>();
  const ended = new Map<number, <T>(run: () => T) => T>();
  let last = 0;
  return {
    open() {
      active.set(++last, AsyncLocalStorage.snapshot());
      return last;
    },
    end(scope: number) {
      const within = active.get(scope);
      if (!within) return;
      active.delete(scope);
      ended.set(scope, within);
      if (ended.size > maxEnded) ended.delete(ended.keys().next().value as number);
    },
    run<T>(scope: number | undefined, run: () => T): T {
      if (scope === undefined) return run();
      const within = active.get(scope) ?? ended.get(scope);
      if (!within)
        throw new AppError('turn_cancelled', 'The call that this context belongs to ended long ago.');
      return within(run);
    },
  };
}

/** Adds the functions and signals that cannot be sent between processes. */
function argumentsOf(method: string, args: unknown[], { signal, emit }: Parameters<Handler>[2]): unknown[] {
  if (method === 'invoker.invoke') {
    const [prompt, wish] = args as [unknown, object | null | undefined];
    return [prompt, { ...wish, onMessage: (message: unknown) => emit('message', message) }];
  }
  if (method === 'tasks.wait' || method === 'bus.poll')
    return [...args.slice(0, -1), { ...(args.at(-1) as object), signal }];
  return args;
}

const isContext = (value: unknown): value is PluginContext =>
  typeof value === 'object' && value !== null && 'invoker' in value && 'store' in value;

const hasSignal = (value: unknown): value is Record<string, unknown> & { signal: AbortSignal } =>
  typeof value === 'object' && value !== null && 'signal' in value && value.signal instanceof AbortSignal;

function revivedOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('$error' in value) return errorIn(value as LoggedError);
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      typeof field === 'object' && field !== null && '$error' in field
        ? errorIn(field as LoggedError)
        : field,
    ]),
  );
}

const errorIn = ({ $error: { message, ...rest } }: LoggedError): Error =>
  Object.assign(new Error(message), rest);
