import { fileURLToPath } from 'node:url';
import { AppError } from '@harness/contracts';
import { createDetachedContext, loadPlugins, type PluginContext, startPluginHost } from '@harness/plugin-kit';
import { expect, onTestFinished, test } from 'vitest';
import { createIsolation, type Isolation } from '../../src/isolation/isolation.ts';

const wholePlugin = fileURLToPath(new URL('../whole-plugin.ts', import.meta.url));

const lines: unknown[][] = [];
const line =
  (level: string) =>
  (...args: unknown[]) =>
    void lines.push([level, ...args]);
const logger = {
  debug: line('debug'),
  info: line('info'),
  warn: line('warn'),
  error: line('error'),
  child: () => logger,
};

async function open({
  role = 'gateway',
  context = {},
  memoryMb = 256,
  hangLimitMs = 20_000,
}: {
  role?: PluginContext['role'];
  context?: Partial<PluginContext>;
  memoryMb?: number;
  hangLimitMs?: number;
} = {}) {
  const isolation: Isolation = createIsolation({
    role,
    config: { reviewModel: 'small' },
    env: { PATH: process.env.PATH ?? '', VISIBLE: 'yes' },
    memoryMb,
    hangLimitMs,
    logger,
    scopeNow: () => ({ tenant: 'mine' }),
  });
  onTestFinished(isolation.close);
  const { loaded, diagnostics } = await loadPlugins({
    builtIn: [],
    modulePaths: [wholePlugin],
    importModule: isolation.importModule,
  });
  expect(diagnostics).toEqual([]);
  const ctx = createDetachedContext({ role, config: { reviewModel: 'small' }, logger, ...context });
  const host = await startPluginHost({ plugins: loaded, contextOf: () => ctx, logger });
  onTestFinished(() => host.close());
  const [plugin] = host.plugins;
  const status = () => plugin && isolation.statusOf(plugin);
  const call = async (name: string, input: object = {}, meta: object = {}) => {
    const outcome = await host.toolServer?.call(`whole__${name}`, {
      input,
      meta: { threadId: 'thr_x', ...meta },
    });
    return outcome as { content: { text: string }[]; isError?: boolean; _meta?: Record<string, unknown> };
  };
  const textOf = async (answer: ReturnType<typeof call>) => (await answer).content[0]?.text ?? '';
  return { host, ctx, call, textOf, status };
}

test('every part of a plugin works in a separate process', async () => {
  const { host, ctx, call, textOf, status } = await open();
  const principal = { keyId: 'k', tenant: 't', scopes: ['tools'] };
  const echoed = JSON.parse(await textOf(call('echo', { text: 'x\u{1f600}' }, { principal, attempt: 2 })));
  expect(echoed).toEqual({
    text: 'x\u{1f600}',
    threadId: 'thr_x',
    principal,
    attempt: 2,
    role: 'gateway',
    config: { reviewModel: 'small' },
    pid: status()?.pid,
  });
  expect(echoed.pid).not.toBe(process.pid);
  expect(await call('echo', {})).toMatchObject({
    isError: true,
    _meta: { 'harness/error': { code: 'invalid_tool_input' } },
  });
  expect(await ctx.store.get('started')).toBe(1);

  const { commands, hooks } = host;
  const served = host.servedFor('acme');
  expect(await served.read('whole://one', {})).toMatchObject([{ text: 'the one' }]);
  expect(await served.read('whole://at/home', {})).toMatchObject([{ text: 'whole://at/home is home' }]);
  const completion = {
    ref: { uriTemplate: 'whole://at/{place}' },
    argument: { name: 'place', value: 't' },
    others: {},
  };
  expect(await served.complete(completion)).toMatchObject({ values: ['there'] });
  expect(await served.prompt('whole__greet', { who: 'Ada' }, {})).toMatchObject({
    messages: [{ content: { text: 'Greet Ada' } }],
  });
  const shout = commands.find(({ name }) => name === 'shout');
  expect(await shout?.execute('hi', { threadId: 'thr_y' } as never)).toEqual({ output: 'HI thr_y gateway' });
  expect(await hooks.beforeInvoke('thr', 'go', {} as never)).toBe('go, please');
  expect(await hooks.taskComplete('thr', 'task', 'good')).toEqual({ accepted: true });
  expect(await hooks.taskComplete('thr', 'task', 'bad')).toEqual({ accepted: false, feedback: 'better' });
  await hooks.broadcast('news', { a: 1 });
  expect(await ctx.store.get('news')).toEqual({ a: 1 });
});

test('its context is that of the owning process, within the call', async () => {
  const { call, textOf } = await open({
    context: {
      invoker: {
        invoke: async (prompt, options) => {
          options?.onMessage?.({ type: 'delta', text: 'a' });
          options?.onMessage?.({ type: 'message', text: 'ab' });
          return `${prompt}!`;
        },
        prewarm: async () => undefined,
      },
      threads: {
        get: async (threadId) => ({ threadId }) as never,
        history: async () => [{ role: 'user', text: 'x' }],
      },
      tools: {
        call: async (name, input) => ({
          content: [{ type: 'text', text: `${name} ${JSON.stringify(input)}` }],
        }),
        narrow: async () => undefined,
      },
      global: {
        store: { get: async () => 'value', set: async () => undefined, delete: async () => undefined },
      },
    },
  });
  const use = async (method: string, ...args: unknown[]) =>
    JSON.parse(await textOf(call('context', { method, args }))).returned;
  expect(await use('threads.get', 'thr_1')).toEqual({ threadId: 'thr_1' });
  expect(await use('threads.history', 'thr_1', { limit: 1 })).toEqual([{ role: 'user', text: 'x' }]);
  expect(await use('tools.call', 'a__b', { c: 1 })).toEqual({
    content: [{ type: 'text', text: 'a__b {"c":1}' }],
  });
  expect(await use('store.get', 'nothing')).toBe(null);
  expect(await use('global.store.get', 'shared')).toBe('value');
  expect(await use('broadcast', 'event', {})).toBe(null);
  expect(JSON.parse(await textOf(call('stream')))).toEqual({
    text: 'hello!',
    seen: [
      { type: 'delta', text: 'a' },
      { type: 'message', text: 'ab' },
    ],
  });
  // An error of the owner keeps its code.
  expect(await call('context', { method: 'tasks.get', args: ['task_1'] })).toMatchObject({
    isError: true,
    _meta: { 'harness/error': { code: 'unavailable' } },
  });
});

test('cancellation, progress and requests for input work between processes', async () => {
  const { ctx, call, textOf } = await open();
  const abort = new AbortController();
  const received: unknown[] = [];
  const waiting = call(
    'wait',
    {},
    {
      signal: abort.signal,
      progress: (...step: unknown[]) => {
        received.push(step);
        abort.abort(new Error('enough'));
      },
      log: (...line: unknown[]) => received.push(line),
    },
  );
  expect(await waiting).toMatchObject({ isError: true });
  expect(received).toContainEqual([1, 2, 'waiting']);
  await expect.poll(() => ctx.store.get('cancelled')).toContain('enough');

  const capabilities = { elicitation: {} };
  const asked = (await call('ask', {}, { capabilities })) as unknown as {
    inputRequests: object;
    state: unknown;
  };
  expect(asked).toMatchObject({
    inputRequests: { name: { method: 'elicitation/create' } },
    state: { round: 1 },
  });
  const again = { capabilities, inputs: { name: { action: 'accept' } }, state: asked.state };
  expect(await textOf(call('ask', {}, again))).toBe('{"action":"accept"} {"round":1}');
});

test.each([
  ['exit', /exit code 7/],
  ['exitWithChild', /exit code 8/],
  ['reject', /astray/],
  ['throw', /in a timer/],
  ['heap', /memory|SIGABRT|SIGKILL|code 13[34]|heap/i],
  ['buffers', /memory|SIGABRT|SIGKILL/i],
])(
  'a plugin that does harm (%s) costs only itself: its call ends clearly, and it is back',
  async (how, reason) => {
    const { ctx, call, textOf, status } = await open({ memoryMb: 256 });
    const hurt = await call('misbehave', { how });
    expect(hurt).toMatchObject({ isError: true });
    expect(hurt.content[0]?.text).toContain('The plugin "whole" ended during the call');
    await expect.poll(() => status()?.crashes).toBe(1);
    expect(status()?.lastCrash).toMatch(reason);
    // A call during the restart waits for the next process.
    expect(JSON.parse(await textOf(call('echo', { text: 'back' })))).toMatchObject({ text: 'back' });
    expect(status()?.state).toBe('ready');
    expect(await ctx.store.get('started')).toBe(2);
  },
);

test('an allocation or result that is too large is refused or cut, and affects no other call', async () => {
  const { call, status } = await open({ memoryMb: 512 });
  expect(await call('misbehave', { how: 'atOnce' })).toMatchObject({ isError: true });
  const cut = await call('misbehave', { how: 'large' });
  expect(cut.content[0]?.text.length).toBeLessThan(1_100_000);
  expect(cut.content.at(-1)?.text).toContain('was cut');
  expect(status()?.crashes).toBe(0);
});

test.each([
  ['throwLargeMessage', /^mmmm/],
  ['throwLargeDetails', /large details/],
  ['throwProxy', /cannot be read/],
  ['askForLargeError', /There is no tool/],
])('an error that cannot be sent as it is (%s) fails only its call', async (how, message) => {
  const call = async (name: string) => {
    // JSON escapes the control characters, which makes this message too large to be sent.
    throw new AppError('tool_not_found', `There is no tool "${name}", nor "${name}".`);
  };
  const opened = await open({ context: { tools: { call, narrow: async () => undefined } } });
  const hurt = await opened.call('misbehave', { how });
  expect(hurt.isError).toBe(true);
  expect(hurt.content[0]?.text).toMatch(message);
  expect(opened.status()).toMatchObject({ state: 'ready', crashes: 0 });
});

test('a line without an end is cut and logged before it ends', async () => {
  const { call } = await open();
  await call('misbehave', { how: 'printLong' });
  const long = () => lines.flat().filter((part) => String(part).startsWith('lll'));
  await expect.poll(long).toEqual(['l'.repeat(8_192)]);
  expect(lines).toContainEqual(['warn', { stream: 'stderr' }, 'short']);
});

test('of a flood of lines a few hundred per second are logged, and the number of the others', async () => {
  const { call, textOf } = await open();
  const from = lines.length;
  await call('misbehave', { how: 'printMany' });
  const logged = (stream: string) =>
    lines.slice(from).filter(([, fields]) => (fields as { stream?: string }).stream === stream);
  for (const stream of ['stdout', 'stderr']) {
    const dropped = { stream, dropped: expect.any(Number) };
    await expect.poll(() => logged(stream)).toContainEqual(['warn', dropped, expect.anything()]);
    expect(logged(stream).length).toBeLessThan(1_000);
  }
  await call('misbehave', { how: 'logMany', ms: 5_000 });
  const told = async () => {
    await call('misbehave', { how: 'logMany', ms: 1 }); // the next line tells
    return lines.slice(from);
  };
  const dropped = ['warn', { dropped: expect.any(Number) }, expect.stringContaining('logs too many')];
  await expect.poll(told, { timeout: 10_000 }).toContainEqual(dropped);
  expect(JSON.parse(await textOf(call('echo', { text: 'well' })))).toMatchObject({ text: 'well' });
});

test('a process that loops does not stop others, and one that does not respond is restarted', {
  timeout: 60_000,
}, async () => {
  const { call, textOf, status } = await open({ hangLimitMs: 1_500 });
  const looping = call('misbehave', { how: 'loop', ms: 30_000 });
  const hurt = await looping;
  expect(hurt.content[0]?.text).toContain('it did not respond for 1.5 s');
  expect(JSON.parse(await textOf(call('echo', { text: 'back' })))).toMatchObject({ text: 'back' });
  expect(status()).toMatchObject({ state: 'ready', crashes: 1 });
});

test('a worker has a process only for plugins with hooks that run in workers', async () => {
  const { status, host } = await open({ role: 'worker' });
  expect(status()?.pid).toBeDefined();
  expect(await host.hooks.beforeInvoke('thr', 'go', {} as never)).toBe('go, please');
});

test('a module that does not load becomes a diagnostic, and leaves no process', async () => {
  const isolation = createIsolation({
    role: 'gateway',
    config: {},
    env: { PATH: process.env.PATH ?? '' },
    memoryMb: 256,
    logger,
    scopeNow: () => ({}),
  });
  onTestFinished(isolation.close);
  const missing = fileURLToPath(new URL('nothing.ts', import.meta.url));
  const odd = `data:text/javascript,${encodeURIComponent('export const plugin = { name: "odd", version: "1", register: 5, tools: [{ name: "t", description: "d", schema: new Map(), handler: 1 }] }')}`;
  const found = await loadPlugins({
    builtIn: [],
    modulePaths: [missing, odd],
    importModule: isolation.importModule,
  });
  expect(found.loaded).toEqual([]);
  const messages = found.diagnostics.map(({ message }) => message).join('\n');
  expect(messages).toContain('import failed');
  for (const problem of [
    'register: must be a function',
    'schema: must be a plain JSON Schema object',
    'handler: must be a function',
  ])
    expect(messages).toContain(problem);
  await isolation.keep([]);
});
