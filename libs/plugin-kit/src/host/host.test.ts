import { describe, expect, it, vi } from 'vitest';
import type { PluginDefinition, PluginHooks } from '../contract/contract.ts';
import { createDetachedContext, silentLogger } from './detached-context.ts';
import { startPluginHost } from './host.ts';

const never = () => new Promise<never>(() => {});
const fail = () => {
  throw new Error('broken');
};
const pluginOf = (name: string, parts: Partial<PluginDefinition> = {}): PluginDefinition => ({
  name,
  version: '1',
  register: () => ({}),
  ...parts,
});
const tools = [{ name: 'tool', description: 'x', schema: {}, handler: () => 'done' }];

async function hostOf(...plugins: PluginDefinition[]) {
  const error = vi.fn();
  const host = await startPluginHost({
    plugins,
    contextOf: (plugin) => createDetachedContext({ config: { name: plugin.name } }),
    logger: { ...silentLogger, error },
    hookTimeoutMs: 15,
  });
  return { host, error };
}

describe('start', () => {
  it('registers all, then starts all, then stops in reverse, each with its own context', async () => {
    const steps: string[] = [];
    const traced = (name: string) =>
      pluginOf(name, {
        register: (ctx) => void steps.push(`register ${ctx.config.name}`),
        start: async (ctx) => void steps.push(`start ${ctx.config.name}`),
        stop: (ctx) => void steps.push(`stop ${ctx.config.name}`),
      });
    const { host } = await hostOf(traced('a'), traced('b'));
    await Promise.all([host.close(), host.close()]);
    expect(steps).toEqual(['register a', 'register b', 'start a', 'start b', 'stop b', 'stop a']);
    expect(host.diagnostics).toEqual([]);
  });

  it('registers and starts them together: those that never end cost their time limit once', async () => {
    const met = Promise.withResolvers<void>();
    const waits = pluginOf('waits', { register: () => met.promise, start: () => met.promise });
    const meets = pluginOf('meets', { register: () => met.resolve() });
    const { host } = await hostOf(waits, meets);
    expect(host.diagnostics).toEqual([]);
    expect(host.plugins.map(({ name }) => name)).toEqual(['waits', 'meets']);
  });

  it.each([
    ['register throws', { register: fail }, 'register failed: broken'],
    ['register rejects', { register: async () => fail() }, 'register failed: broken'],
    ['register hangs', { register: never }, 'register failed: took longer'],
    ['start throws', { start: fail }, 'start failed: broken'],
    ['start hangs', { start: never }, 'start failed: took longer'],
  ])('leaves a plugin out when %s', async (_what, parts, message) => {
    const stop = vi.fn();
    const onMessage = vi.fn();
    const bad = pluginOf('bad', { register: () => ({ onMessage }), tools, stop, ...parts });
    const { host, error } = await hostOf(bad, pluginOf('good', { tools }));
    expect(host.plugins.map(({ name }) => name)).toEqual(['good']);
    expect(host.tools.map(({ qualifiedName }) => qualifiedName)).toEqual(['good__tool']);
    expect(host.diagnostics).toEqual([
      { source: 'bad', level: 'error', message: expect.stringContaining(`bad: ${message}`) },
    ]);
    expect(error).toHaveBeenCalledWith(expect.objectContaining({ plugin: 'bad' }), expect.any(String));
    await host.hooks.message('t', 'user', 'hi');
    await host.close();
    expect(stop).not.toHaveBeenCalled();
    expect(onMessage).not.toHaveBeenCalled();
  });

  it('stops the other plugins when one fails to stop', async () => {
    const stop = vi.fn();
    const { host } = await hostOf(
      pluginOf('a', { stop }),
      pluginOf('b', { stop: never }),
      pluginOf('c', { stop: fail }),
    );
    await host.close();
    expect(stop).toHaveBeenCalledOnce();
  });
});

describe('hooks', () => {
  it('onCommand of old plugins is ignored with a warning; the rest of the plugin works', async () => {
    const onMessage = vi.fn();
    const onCommand = vi.fn();
    const old = pluginOf('old', { register: () => ({ onMessage, onCommand }) as PluginHooks });
    const { host } = await hostOf(old);
    expect(host.diagnostics).toEqual([
      { source: 'old', level: 'warning', message: expect.stringContaining('onCommand') },
    ]);
    await host.hooks.message('t', 'user', '/help');
    expect(onMessage).toHaveBeenCalledWith('t', 'user', '/help');
    expect(onCommand).not.toHaveBeenCalled();
  });

  it('a hook that is not a function, and hooks that are not an object, are ignored with a warning', async () => {
    const odd = (returned: unknown) => ({ register: () => returned as PluginHooks });
    const { host } = await hostOf(
      pluginOf('a', odd({ onMessage: 'x' })),
      pluginOf('b', odd('hooks')),
      pluginOf('c', odd(null)),
      pluginOf('d', odd(undefined)),
    );
    expect(host.plugins).toHaveLength(4);
    expect(host.diagnostics.map(({ source, level }) => `${source} ${level}`)).toEqual([
      'a warning',
      'b warning',
    ]);
    await host.hooks.message('t', 'user', 'hi');
  });

  it('are bound to their object, so that it may be a class instance', async () => {
    class Hooks implements PluginHooks {
      #seen: string[] = [];
      onBeforeInvoke(_threadId: string, prompt: string) {
        this.#seen.push(prompt);
        return this.#seen.join(' ');
      }
    }
    const { host } = await hostOf(pluginOf('a', { register: () => new Hooks() }));
    const turn = { runId: 'r', path: 'cold', finishedRuns: 0, kind: 'message' } as const;
    await host.hooks.beforeInvoke('t', 'one', turn);
    expect(await host.hooks.beforeInvoke('t', 'two', turn)).toBe('one two');
  });
});

describe('tools', () => {
  it('run with their plugin’s context', async () => {
    const handler = vi.fn((ctx) => String(ctx.config.name));
    const named = [{ name: 'name', description: 'x', schema: {}, handler }];
    const { host } = await hostOf(pluginOf('a'), pluginOf('b', { tools: named }));
    const result = await host.toolServer?.call('b__name', { input: {}, meta: { threadId: 't' } });
    expect(result).toMatchObject({ content: [{ type: 'text', text: 'b' }] });
  });

  it('without tools there is no tool server', async () => {
    const { host } = await hostOf(pluginOf('a'));
    expect(host.toolServer).toBeNull();
    expect(host.tools).toEqual([]);
  });
});

describe('names', () => {
  const withTools = (name: string, own: string[], parts: Partial<PluginDefinition> = {}) =>
    pluginOf(name, { tools: own.map((tool) => ({ ...tools[0], name: tool })) as never, ...parts });
  const start = (plugins: PluginDefinition[], unprefixed: string[]) =>
    startPluginHost({
      plugins,
      unprefixed,
      contextOf: () => createDetachedContext(),
      logger: silentLogger,
    });

  it('are bare only if the configuration allows it', async () => {
    const bare = withTools('bare', ['hello'], { prefix: false });
    const refused = await start([bare, withTools('other', ['hello'])], []);
    expect(refused.toolServer?.list().map(({ name }) => name)).toEqual(['other__hello']);
    expect(refused.diagnostics).toMatchObject([
      { source: 'bare', level: 'error', message: expect.stringContaining('HARNESS_UNPREFIXED_PLUGINS') },
    ]);
    const allowed = await start([bare, withTools('other', ['hello'])], ['bare']);
    expect(allowed.toolServer?.list().map(({ name }) => name)).toEqual(['hello', 'other__hello']);
  });

  it('belong to the first of two plugins, and no bare name looks like a qualified one', async () => {
    const bare = (name: string, tool: string) => withTools(name, [tool], { prefix: false });
    const host = await start(
      [bare('a', 'hello'), bare('b', 'hello'), bare('c', 'a__hello')],
      ['a', 'b', 'c'],
    );
    expect(host.tools.map(({ pluginName }) => pluginName)).toEqual(['a']);
    expect(host.diagnostics.map(({ message }) => message)).toEqual([
      'b: its tool "hello" has the same name as a tool of a',
      expect.stringContaining('must not contain "__"'),
    ]);
  });

  it('of prompts and resources belong to the first of two plugins; the other gets a warning', async () => {
    const offering = (name: string) =>
      pluginOf(name, {
        prefix: false,
        prompts: [{ name: 'review', get: () => `by ${name}` }],
        resources: [{ uri: 'notes://all', name: 'notes', read: () => `by ${name}` }],
      });
    const host = await start([offering('a'), offering('b')], ['a', 'b']);
    expect(host.diagnostics).toEqual([
      {
        source: 'b',
        level: 'warning',
        message: 'b: its prompt "review" is not offered while the prompt of a with the same name is',
      },
      {
        source: 'b',
        level: 'warning',
        message: 'b: its resource "notes://all" is not offered while the resource of a with the same name is',
      },
    ]);
    const review = async () =>
      (await host.servedFor('any').prompt('review', {}, {})) as unknown as {
        messages: [{ content: { text: string } }];
      };
    expect((await review()).messages[0].content.text).toBe('by a');
    host.disable({ all: ['a'], tenants: {} });
    expect((await review()).messages[0].content.text).toBe('by b');
  });
});

describe('a plugin at run time', () => {
  it('has no tools and hooks while it is disabled, and gets them back', async () => {
    const broadcasts: string[] = [];
    const { host } = await hostOf(
      pluginOf('a', { tools, register: () => ({ onBroadcast: (event) => void broadcasts.push(event) }) }),
      pluginOf('b', { tools }),
    );
    const names = () => host.toolServer?.list().map(({ name }) => name);
    const before = host.toolServer;
    expect(host.disable({ all: ['a'], tenants: {} })).toBe(true);
    expect(host.disable({ all: ['a'], tenants: {} })).toBe(false);
    await host.hooks.broadcast('resting', null);
    expect([names(), host.isEnabled('a')]).toEqual([['b__tool'], false]);
    // A running call ends on the snapshot that it started with.
    expect(await before?.call('a__tool', { input: {}, meta: { threadId: 't' } })).toMatchObject({
      content: [{ text: 'done' }],
    });
    host.disable({ all: [], tenants: {} });
    await host.hooks.broadcast('back', null);
    expect([names(), broadcasts]).toEqual([['a__tool', 'b__tool'], ['back']]);
  });

  it('offers other tools once it is replaced; a replacement that is refused changes nothing', async () => {
    const { host } = await hostOf(pluginOf('a', { tools }));
    const names = () => host.toolServer?.list().map(({ name }) => name);
    host.replace(pluginOf('a', { tools: tools.map((tool) => ({ ...tool, name: 'next' })) }));
    expect(names()).toEqual(['a__next']);
    expect(() => host.replace(pluginOf('a', { tools: [...tools, ...tools] }))).toThrow('a__tool');
    expect(() => host.replace(pluginOf('unknown'))).toThrow('unknown');
    expect(names()).toEqual(['a__next']);
  });
});
