/** Which plugins run in processes of their own, and how they are. It isolates faults; it is no security boundary. */
import type { PluginContext, PluginDefinition, PluginHooks, PluginLogger } from '@harness/plugin-kit';
import type { RegisteredHooks, Scope } from './calls.ts';
import type { HostState } from './host-process.ts';
import { createRemoteHost, type RemoteHost } from './remote-host.ts';

export interface IsolationSettings {
  /** Of each process, as `hostEnvOf` makes it. */
  env: Record<string, string>;
  /** Of resident memory, for each process. */
  memoryMb: number;
  /** One that answers nothing for so long is ended; 10 s unless given. */
  hangLimitMs?: number;
}

export interface IsolationOptions extends IsolationSettings {
  role: PluginContext['role'];
  config: PluginContext['config'];
  logger: PluginLogger & { child(fields: object): PluginLogger };
  scopeNow(): Omit<Scope, 'scope'>;
}

export interface PluginProcessStatus {
  state: HostState;
  /** Times that its process ended by itself, or had to be ended. */
  crashes: number;
  lastCrash: string | undefined;
  pid: number | undefined;
}

export interface Isolation {
  /** For `loadPlugins`, in place of `import`: the module is loaded in a process of its own. */
  importModule(specifier: string): Promise<unknown>;
  /** For the code of skills: all of it shares one process. */
  importTools(specifier: string): Promise<unknown>;
  /** Undefined for a plugin that runs in this process. */
  statusOf(plugin: PluginDefinition): PluginProcessStatus | undefined;
  /** Of the process that runs the code of skills; undefined while there is none. */
  skillStatus(): PluginProcessStatus | undefined;
  /** Ends the processes of all other plugins: they did not load. */
  keep(plugins: readonly PluginDefinition[]): Promise<void>;
  close(): Promise<void>;
}

/** Hooks whose event happens in a worker. A plugin without any needs no process there. */
const workerHooks = [
  'onMessage',
  'onBeforeInvoke',
  'onAfterInvoke',
  'onTaskCreate',
  'onTaskComplete',
  'onTaskFailed',
];

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

/** The same plugin; what it registers and starts here is registered and started in each process that it has in turn. */
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
  // No object: whoever registers it says so.
  if (Array.isArray(found.returned)) return found.returned[0] as undefined;
  const hooks = Object.entries(found).map(([name, kind]) => [name, kind === 'function' ? call(name) : null]);
  return Object.fromEntries(hooks) as PluginHooks;
}
