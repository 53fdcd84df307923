import { spawn } from 'node:child_process';
import {
  type InvokeMessage,
  needInput,
  type PluginContext,
  type PluginDefinition,
  type ToolReturn,
} from '@harness/plugin-kit';

const schema = { type: 'object' };
let context: PluginContext | undefined;

/** A plugin that uses every part of the contract, and can misbehave in many ways. */
export const plugin: PluginDefinition = {
  name: 'whole',
  version: '1.2.3',
  tools: [
    {
      name: 'echo',
      description: 'Returns its input and its context',
      schema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      handler: (ctx, { text }, { threadId, principal, attempt }) =>
        JSON.stringify({
          text,
          threadId,
          principal,
          attempt,
          role: ctx.role,
          config: ctx.config,
          pid: process.pid,
        }),
    },
    {
      name: 'context',
      description: 'Uses its context',
      schema,
      async handler(ctx, { method, args }) {
        const run = String(method)
          .split('.')
          .reduce<object>((part, name) => Reflect.get(part, name), ctx) as (...given: unknown[]) => unknown;
        return JSON.stringify({ returned: (await run(...(args as unknown[]))) ?? null });
      },
    },
    {
      name: 'stream',
      description: 'Asks a model, and returns the streamed messages',
      schema,
      async handler(ctx) {
        const seen: InvokeMessage[] = [];
        const text = await ctx.invoker.invoke('hello', { onMessage: (message) => void seen.push(message) });
        return JSON.stringify({ text, seen });
      },
    },
    {
      name: 'wait',
      description: 'Waits until the call is cancelled',
      schema,
      handler: (ctx, _input, { signal, progress, log }) =>
        new Promise((resolve) => {
          progress(1, 2, 'waiting');
          log('info', { waiting: true });
          signal.addEventListener('abort', () => {
            void ctx.store.set('cancelled', String(signal.reason));
            resolve('cancelled');
          });
        }),
    },
    {
      name: 'ask',
      description: 'Asks the client',
      schema,
      handler: (_ctx, _input, { inputs, state }) =>
        inputs.name
          ? `${JSON.stringify(inputs.name)} ${JSON.stringify(state)}`
          : needInput({ name: { method: 'elicitation/create', params: { message: 'Who?' } } }, { round: 1 }),
    },
    {
      name: 'surroundings',
      description: 'Returns its environment and its request meta',
      schema,
      handler: (_ctx, _input, { traceparent, principal }) =>
        JSON.stringify({ env: process.env, meta: { traceparent, principal } }),
    },
    {
      name: 'misbehave',
      description: 'Does harm',
      schema,
      timeoutMs: 60_000,
      async handler(ctx, { how, ms }) {
        const done = await harm[String(how)]?.(Number(ms), ctx);
        return typeof done === 'object' ? (done as ToolReturn) : 'behaved';
      },
    },
  ],
  resources: [{ uri: 'whole://one', name: 'one', read: () => 'the one' }],
  resourceTemplates: [
    {
      uriTemplate: 'whole://at/{place}',
      name: 'place',
      read: (_ctx, uri, { place }) => `${uri} is ${place}`,
      complete: { place: (value) => ['here', 'there'].filter((one) => one.startsWith(value)) },
    },
  ],
  prompts: [
    {
      name: 'greet',
      arguments: [{ name: 'who', required: true, complete: (value) => [`${value}!`] }],
      get: (_ctx, { who }) => `Greet ${who}`,
    },
  ],
  commands: [
    {
      name: 'shout',
      description: 'Says it loud',
      execute: (args, { threadId }, ctx) => `${args.toUpperCase()} ${threadId} ${ctx.role}`,
    },
  ],
  register(ctx) {
    context = ctx;
    return {
      onBeforeInvoke: (_threadId, prompt) => `${prompt}, please`,
      onTaskComplete: (_threadId, _taskId, result) =>
        result === 'good' ? { accepted: true } : { accepted: false, feedback: 'better' },
      onBroadcast: (event, data) => context?.store.set(event, data),
    };
  },
  async start(ctx) {
    await ctx.store.set('started', Number((await ctx.store.get('started')) ?? 0) + 1);
  },
};

const spin = (ms: number) => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};
const kept: unknown[] = [];
const after = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const harm: Record<string, (ms: number, ctx: PluginContext) => unknown> = {
  loop: spin,
  reject: () => {
    setTimeout(() => Promise.reject(new Error('astray')), 10);
    return new Promise(() => undefined);
  },
  throw: () => {
    setTimeout(() => {
      throw new Error('in a timer');
    }, 10);
    return new Promise(() => undefined);
  },
  rejectAside: () => void setTimeout(() => Promise.reject(new Error('astray')), 10),
  sleep: after,
  exit: () => process.exit(7),
  exitWithChild: () => {
    spawn('yes', { detached: true, stdio: 'inherit' }); // writes until its output is closed
    process.exit(8);
  },
  heap: () => {
    for (;;) kept.push('x'.repeat(1_000_000).split(''));
  },
  buffers: async () => {
    for (;;) {
      kept.push(Buffer.alloc(64 * 1024 * 1024, 1));
      await after(20);
    }
  },
  printLong: () => {
    process.stdout.write('l'.repeat(3_000_000));
    process.stderr.write('short\n');
  },
  printMany: () => {
    process.stdout.write('many\n'.repeat(100_000));
    process.stderr.write('many\n'.repeat(100_000));
  },
  logMany: (count, ctx) => {
    for (let n = 0; n < count; n++) ctx.logger.info({ flood: true }, 'many');
  },
  throwLargeMessage: () => {
    throw new Error('m'.repeat(20_000_000));
  },
  throwLargeDetails: () => {
    throw Object.assign(new Error('large details'), { details: 'd'.repeat(20_000_000) });
  },
  throwProxy: () => {
    throw new Proxy(new Error(), {
      get: () => {
        throw new Error('trap');
      },
    });
  },
  // The owner's error quotes the name.
  askForLargeError: (_ms, ctx) => ctx.tools.call('\u0001'.repeat(2_700_000), {}),
  atOnce: () => Buffer.alloc(2 ** 32 - 1, 1).length,
  large: () => ({ content: [{ type: 'text', text: 'x'.repeat(50_000_000) }] }),
};
