/** A plugin process as its owner sees it: modules whose functions run there, and the context that they use here. */
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

export interface RemoteHostOptions {
  /** In messages. */
  name(): string;
  env: Record<string, string>;
  memoryMb: number;
  hangLimitMs?: number;
  logger: PluginLogger;
  role: PluginContext['role'];
  config: PluginContext['config'];
  /** For whom code runs at this moment. */
  scopeNow(): Omit<Scope, 'scope'>;
}

export interface RemoteHost {
  process: HostProcess;
  /** What a module exports; its functions run in the process. */
  load(load: Load): Promise<unknown>;
  /** Registers the plugin of a module, now and in each process that comes after this one. */
  register(specifier: string, ctx: PluginContext): Promise<RegisteredHooks>;
  /** Starts the plugin, now and in each process that comes after this one. */
  start(specifier: string): Promise<void>;
  /** A function of the module, or a hook that it has registered. */
  call(specifier: string, path: Path): (...args: unknown[]) => Promise<unknown>;
}

/** Functions of a meta that a plugin may call. */
const tellable = ['progress', 'log', 'releaseStream'];
const levels = ['debug', 'info', 'warn', 'error'];
/** Calls that have ended, whose code may still use its context. */
const maxEnded = 10_000;

export function createRemoteHost(options: RemoteHostOptions): RemoteHost {
  const { role, config } = options;
  let ctx: PluginContext | undefined;
  /** What each process does before it takes calls. */
  const preparation: ((ask: HostProcess['ask']) => Promise<unknown>)[] = [
    (ask) => ask('bind', { role, config }),
  ];
  const scopes = createScopes();
  const openScope = (): Scope => ({ scope: scopes.open(), ...options.scopeNow() });

  const useContext = async ({ scope, method, args }: ContextCall, incoming: Parameters<Handler>[2]) => {
    if (!ctx) throw new AppError('unavailable', 'The plugin is not registered yet: it has no context.');
    if (!contextMethods.includes(method))
      throw new AppError('invalid_request', `The context has no ${method}.`);
    const [room = '', name] = method.split('.');
    const owner = name === undefined ? ctx : (ctx[room as keyof PluginContext] as object);
    const run = Reflect.get(owner, name ?? room) as (...args: unknown[]) => Promise<unknown>;
    const given = argumentsOf(method, args, incoming);
    return scopes.run(scope, () => run.apply(owner, given));
  };

  const process = createHostProcess({
    ...options,
    async handle(method, args, incoming) {
      if (method === 'ctx') return useContext(args as ContextCall, incoming);
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
          ctx ??= arg; // of skills: that of the plugin which offers them
          return { $ctx: true };
        }
        if (!hasSignal(arg)) return arg;
        asking.signal = arg.signal;
        asking.onEvent = (name, value) => {
          const tell = tellable.includes(name) ? arg[name] : undefined;
          if (typeof tell === 'function') tell(...(value as unknown[]));
        };
        // JSON leaves its functions out.
        return { $meta: { ...arg, signal: undefined } };
      });
      const scope = openScope();
      const request: Call = { ...scope, specifier, path, args: sent };
      return process.ask('call', request, asking).finally(() => scopes.end(scope.scope));
    };
  /** Something that each process does once. */
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

/**
 * Where the code of a call is, as far as rights and tenants go. An ended call is remembered for a while: its code may
 * still be using its context.
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
      if (!within) throw new AppError('turn_cancelled', 'The call for which this is asked ended long ago.');
      return within(run);
    },
  };
}

/** Functions and signals do not cross: they are made again here. */
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
