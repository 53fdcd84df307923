/**
 * The main file of a plugin process: loads modules and calls their functions as its owner requests. An uncaught exception
 * or unhandled rejection of plugin code ends the process, and the owner starts a new one.
 */
import { Socket } from 'node:net';
import {
  boundResult,
  exportOf,
  hookNames,
  isInputRequired,
  offerOwnPackages,
  type PluginContext,
  parseToolResult,
} from '@harness/plugin-kit';
import {
  type Binding,
  type Call,
  isContext,
  type Load,
  type Loaded,
  metaIn,
  type RegisteredHooks,
  type Registration,
} from './calls.ts';
import { openChannel } from './channel.ts';
import { callScope, createHostContext } from './host-context.ts';
import { methodAt, mirrorOfPlugin, mirrorOfTools } from './mirror.ts';
import { createPeer, type Incoming } from './peer.ts';

/** File descriptor of the socket pair. */
const channelFd = 3;

/** Larger results are bounded before they are sent. */
const largeChars = 100_000;

const modules = new Map<string, { exported: unknown; hooks?: unknown }>();
let ctx: PluginContext | undefined;

async function load({ specifier, as }: Load): Promise<Loaded> {
  const imported: Record<string, unknown> = await import(specifier);
  const exported = as === 'plugin' ? exportOf(imported) : (imported.tools ?? imported.default);
  modules.set(specifier, { exported });
  return { mirror: as === 'plugin' ? mirrorOfPlugin(exported) : mirrorOfTools(exported) };
}

async function register({ specifier }: Registration): Promise<RegisteredHooks> {
  const module = modules.get(specifier);
  const returned: unknown = await methodAt(module?.exported, ['register'])(ctx);
  if (module) module.hooks = returned;
  if (returned === undefined || returned === null) return {};
  if (typeof returned !== 'object') return { returned: [typeof returned === 'function' ? null : returned] };
  const named = ['onCommand', ...hookNames].map((name) => [name, Reflect.get(returned, name)] as const);
  const found = named.filter(([, hook]) => hook !== undefined);
  return Object.fromEntries(
    found.map(([name, hook]) => [name, typeof hook === 'function' ? 'function' : 'other']),
  );
}

async function call({ specifier, path, args }: Call, incoming: Incoming) {
  // A restarted process has not loaded the modules of skills yet.
  if (!modules.has(specifier)) await load({ specifier, as: 'tools' });
  const module = modules.get(specifier);
  const method =
    path[0] === 'hooks' ? methodAt(module?.hooks, path.slice(1)) : methodAt(module?.exported, path);
  const own = args.map((arg) => {
    if (isContext(arg)) return ctx;
    const meta = metaIn(arg);
    return meta ? metaOf(meta, incoming) : arg;
  });
  const returned = await method(...own);
  // Cut here what the owner would cut anyway, so that it is not sent.
  return path.at(-1) === 'handler' && isLarge(returned) ? boundResult(parseToolResult(returned)) : returned;
}

/** Whether a tool's result is more than a short text. */
const isLarge = (returned: unknown): boolean => {
  if (typeof returned === 'string') return returned.length > largeChars;
  if (isInputRequired(returned)) return false;
  const { content, structuredContent } = (returned ?? {}) as Record<string, unknown>;
  const text: unknown = Array.isArray(content) && content.length === 1 ? content[0]?.text : undefined;
  return structuredContent !== undefined || typeof text !== 'string' || text.length > largeChars;
};

const metaOf = (fields: Record<string, unknown>, { signal, emit }: Incoming) => ({
  ...fields,
  signal,
  progress: (...step: unknown[]) => emit('progress', step),
  log: (...line: unknown[]) => emit('log', line),
  releaseStream: () => emit('releaseStream', []),
});

const peer = createPeer(
  () => channel,
  (method, args, incoming) => {
    const { scope } = args as { scope?: number };
    return callScope.run(scope as number, async () => {
      switch (method) {
        case 'ping':
          return null;
        case 'bind':
          ctx = createHostContext(peer, args as Binding);
          return null;
        case 'load':
          return load(args as Load);
        case 'register':
          return register(args as Registration);
        default:
          return call(args as Call, incoming);
      }
    });
  },
);
const channel = openChannel(new Socket({ fd: channelFd }), {
  onMessage: peer.hear,
  onClose: () => process.exit(0), // the owner has disconnected
});

/** Writes the reason of the end to stderr, which the owner logs. */
const leave = (what: string) => (error: unknown) => {
  process.stderr.write(`${what}: ${error instanceof Error ? error.stack : String(error)}\n`, () =>
    process.exit(1),
  );
};
process.on('uncaughtException', leave('uncaught exception'));
process.on('unhandledRejection', leave('unhandled rejection'));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined); // the owner ends this process

offerOwnPackages();
