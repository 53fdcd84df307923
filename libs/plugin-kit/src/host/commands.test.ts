import { describe, expect, it, vi } from 'vitest';
import type { CommandContext } from '../contract/contract.ts';
import { type Command, createCommandRegistry } from './commands.ts';
import { silentLogger } from './detached-context.ts';

const context: CommandContext = {
  threadId: 'thr_1',
  activeAgent: undefined,
  activeSkill: 'tea',
  model: undefined,
  toolNames: [],
  skillNames: [],
  agentNames: [],
};
const commandOf = (name: string, execute: Command['execute'] = (args) => `${name}(${args})`): Command => ({
  name,
  description: 'x',
  group: 'test',
  execute,
});

describe('dispatch', () => {
  it.each([
    ['/echo', 'echo()'],
    ['  /echo  ', 'echo()'],
    ['/echo one  two ', 'echo(one  two)'],
    ['echo one', 'echo(one)'],
    ['/echo\n one\n two\n', 'echo(one\n two)'],
  ])('splits %j', async (line, output) => {
    const registry = createCommandRegistry();
    registry.register(commandOf('echo'));
    expect(await registry.dispatch(line, context)).toEqual({ output, isError: false });
  });

  it('parses a line in linear time, even with much white space', async () => {
    const registry = createCommandRegistry();
    registry.register(commandOf('echo', (args) => String(args.length)));
    const begunAt = performance.now();
    const { output } = await registry.dispatch(`/echo a${' '.repeat(60_000)}b`, context);
    expect(output).toBe('60002');
    expect(performance.now() - begunAt).toBeLessThan(5_000);
  });

  it('passes the context to the command, and returns its action', async () => {
    const registry = createCommandRegistry();
    registry.register(
      commandOf('leave', (_args, { activeSkill }) => ({ output: `bye ${activeSkill}`, action: 'quit' })),
    );
    expect(await registry.dispatch('/leave', context)).toEqual({
      output: 'bye tea',
      action: 'quit',
      isError: false,
    });
  });

  it('a command that throws or rejects, and an unknown one, are error results', async () => {
    const registry = createCommandRegistry();
    registry.register(
      commandOf('throw', () => {
        throw new Error('broken');
      }),
    );
    registry.register(commandOf('reject', async () => Promise.reject(new Error('broken, too'))));
    expect(await registry.dispatch('/throw', context)).toEqual({
      output: '/throw failed: broken',
      isError: true,
    });
    expect(await registry.dispatch('/reject', context)).toMatchObject({
      output: '/reject failed: broken, too',
      isError: true,
    });
    for (const line of ['/nothing', '/', '', '/__proto__'])
      expect(await registry.dispatch(line, context)).toMatchObject({ isError: true });
  });
});

describe('names', () => {
  it('are listed in order, and removed by their unregister function', () => {
    const registry = createCommandRegistry();
    const unregister = registry.register(commandOf('tea'));
    registry.register(commandOf('coffee'));
    expect(registry.names()).toEqual(['coffee', 'tea']);
    expect([registry.has('tea'), registry.get('tea')?.name]).toEqual([true, 'tea']);
    unregister();
    const again = commandOf('tea');
    registry.register(again);
    unregister(); // of the first one: the second stays
    expect(registry.get('tea')).toBe(again);
  });

  it('that are used or invalid are refused, never overwritten', () => {
    const warn = vi.fn();
    const registry = createCommandRegistry({ logger: { ...silentLogger, warn } });
    const first = commandOf('tea');
    registry.register(first);
    expect(() => registry.register(commandOf('tea'))).toThrow('the command /tea already exists');
    expect(registry.registerChecked(commandOf('tea'))).toEqual({
      registered: false,
      error: 'the command /tea already exists',
    });
    for (const bad of ['', 'Tea', 'x'.repeat(65), '/tea', 'a b', '-x'])
      expect(registry.registerChecked(commandOf(bad))).toMatchObject({ registered: false });
    expect(registry.get('tea')).toBe(first);
    expect(warn).toHaveBeenCalledTimes(7);
    const checked = registry.registerChecked(commandOf('coffee'));
    if (checked.registered) checked.unregister();
    expect(registry.names()).toEqual(['tea']);
  });
});
