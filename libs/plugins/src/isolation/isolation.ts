/**
 * Runs outside plugins in separate processes, and reports the state of these. It isolates faults; it is not a security
 * boundary.
 *
 * In the gateway or worker, which owns the processes:
 * - `remote-host.ts`   a plugin process as its owner uses it: modules to call, and the context they use
 * - `plugin-process.ts`  one process: its start, its limits, its end
 * - `log-output.ts`    what it prints, in the log of its owner
 * - `host-process.ts`  starts another process when one ends
 * - `env-isolation.ts` the settings in the environment
 * - `host-env.ts`      the environment of a process
 *
 * In the plugin process:
 * - `host-main.ts`     the main file
 * - `host-context.ts`  `ctx`, which forwards to the owner
 *
 * In both:
 * - `channel.ts`       framed JSON messages over a socket pair
 * - `peer.ts`          requests, responses, cancellation and events over a channel
 * - `calls.ts`         the types of the requests
 * - `mirror.ts`        a plugin as JSON, with paths in place of functions
 * - `wire-error.ts`    errors as JSON
 */
import type { PluginContext, PluginDefinition, PluginHooks, PluginLogger } from '@harness/plugin-kit';
import type { RegisteredHooks, Scope } from './calls.ts';
import type { HostState } from './host-process.ts';
import { createRemoteHost, type RemoteHost } from './remote-host.ts';

/** Settings of plugin processes. */
export interface IsolationSettings {
  /** Environment of each process, from `hostEnvOf`. */
  env: Record<string, string>;
  /** Limit of resident memory for each process. */
  memoryMb: number;
  /** A process that does not respond for this long is ended. Default 10 s. */
  hangLimitMs?: number;
}

/** What isolation needs. */
export interface IsolationOptions extends IsolationSettings {
  role: PluginContext['role'];
  config: PluginContext['config'];
  logger: PluginLogger & { child(fields: object): PluginLogger };
  /** The tenant and trace context for which code runs now. */
  scopeNow(): Omit<Scope, 'scope'>;
}

/** The state of a plugin process. */
export interface PluginProcessStatus {
  state: HostState;
  /** How often the process ended by itself, or was ended by its owner. */
  crashes: number;
  lastCrash: string | undefined;
  pid: number | undefined;
}

/** The plugin processes of one gateway or worker. */
export interface Isolation {
  /** Replaces `import` in `loadPlugins`: loads the module in a new process. */
  importModule(specifier: string): Promise<unknown>;
  /** Replaces `import` for the code of skills, which shares one process. */
  importTools(specifier: string): Promise<unknown>;
  /** Undefined for a plugin that runs in this process. */
  statusOf(plugin: PluginDefinition): PluginProcessStatus | undefined;
  /** State of the process that runs the code of skills; undefined while there is none. */
  skillStatus(): PluginProcessStatus | undefined;
  /** Ends the processes of all other plugins, which failed to load or start. */
  keep(plugins: readonly PluginDefinition[]): Promise<void>;
  close(): Promise<void>;
}

/** Hooks whose event happens in a worker. A plugin without any of them needs no process there. */
const workerHooks = [
  'onMessage',
  'onBeforeInvoke',
  'onAfterInvoke',
  'onTaskCreate',
  'onTaskComplete',
  'onTaskFailed',
];

/** Creates the isolation of a process; plugin processes start on demand. */
export function createIsolation(options: IsolationOptions): Isolation {
  const { role } = options;
  const hosts = new Map<RemoteHost, unknown>();
  let skills: RemoteHost | undefined;
  const hostOf = (name: () => string, plugin: string) =>
    createRemoteHost({ ...options, name, logger: options.logger.child({ plugin }) });

  const statusOf = ({ process }: RemoteHost): PluginProcessStatus => {
    const { count, last } = process.crashes();
    return { state: process.state(), crashes: count, lastCrash: last, pid: process.pid() };
  };

  return {
    async importModule(specifier) {
      let name = specifier;
      const host = hostOf(() => name, specifier);
      hosts.set(host, undefined);
      const exported = (await host.load({ specifier, as: 'plugin' })) as PluginDefinition;
      if (typeof exported?.name === 'string') name = exported.name;
      const plugin =
        typeof exported === 'object' ? definitionOf(exported, { host, specifier, role }) : exported;
      hosts.set(host, plugin);
      return { plugin };
    },
    async importTools(specifier) {
      if (!skills) {
        skills = hostOf(() => 'skill', 'skill');
        hosts.set(skills, undefined);
        await skills.process.start();
      }
      return { tools: await skills.load({ specifier, as: 'tools' }) };
    },
    statusOf(plugin) {
      for (const [host, own] of hosts) if (own === plugin) return statusOf(host);
      return undefined;
    },
    skillStatus: () => skills && statusOf(skills),
    async keep(plugins) {
      for (const [host, own] of [...hosts]) {
        if (host === skills || plugins.includes(own as PluginDefinition)) continue;
        hosts.delete(host);
        await host.process.close();
      }
    },
    async close() {
      await Promise.all([...hosts.keys()].map((host) => host.process.close()));
    },
  };
}

/** The plugin with functions that run in its process. Its `register` and `start` are repeated in each restarted process. */
function definitionOf(
  exported: PluginDefinition,
  { host, specifier, role }: { host: RemoteHost; specifier: string; role: PluginContext['role'] },
): PluginDefinition {
  if (typeof exported.register !== 'function') return exported;
  let needed = true;
  return {
    ...exported,
    async register(ctx) {
      const found = await host.register(specifier, ctx);
      needed = role === 'gateway' || workerHooks.some((name) => Object.hasOwn(found, name));
      if (!needed) await host.process.close();
      return hooksOf(found, (name) => host.call(specifier, ['hooks', name]));
    },
    ...(exported.start && { start: () => (needed ? host.start(specifier) : undefined) }),
    ...(exported.stop && { stop: (ctx: PluginContext) => (needed ? exported.stop?.(ctx) : undefined) }),
  };
}

function hooksOf(found: RegisteredHooks, call: (name: string) => (...args: unknown[]) => Promise<unknown>) {
  // Not an object: the plugin host reports it.
  if (Array.isArray(found.returned)) return found.returned[0] as undefined;
  const hooks = Object.entries(found).map(([name, kind]) => [name, kind === 'function' ? call(name) : null]);
  return Object.fromEntries(hooks) as PluginHooks;
}
