import { expect, test, vi } from 'vitest';
import type { CommandContext, CommandOutput, PluginCommand } from '../contract/contract.ts';
import { collectCommands } from './collect-commands.ts';
import { createDetachedContext } from './detached-context.ts';
import { createOffer } from './offer.ts';

const context: CommandContext = {
  threadId: 'thr_1',
  activeAgent: undefined,
  activeSkill: undefined,
  model: undefined,
  toolNames: [],
  skillNames: [],
  agentNames: [],
};
const collectedFrom = (execute: PluginCommand['execute']) => {
  const tea = { name: 'tea', description: 'Makes tea', argumentHint: '<kind>', execute };
  const plugin = { name: 'kitchen', version: '1', register: () => undefined, commands: [tea] };
  const contextOf = (name: string) => createDetachedContext({ config: { name } });
  const offer = createOffer(
    { all: [], tenants: { other: ['kitchen'] } },
    { plugins: [plugin], tenantsOf: () => undefined },
  );
  const [command] = collectCommands([plugin], { contextOf, offer });
  if (!command) throw new Error('none');
  return command;
};

test('a command gets its plugin’s context, and is in the group of plugins', async () => {
  const command = collectedFrom((args, { threadId }, ctx) => `${args} ${threadId} ${ctx.config.name}`);
  expect(command).toMatchObject({ name: 'tea', group: 'plugin', argumentHint: '<kind>' });
  expect(await command.execute('oolong', context)).toEqual({ output: 'oolong thr_1 kitchen' });
});

test('its result is cleaned, bounded and parsed field by field', async () => {
  const returned = { output: 'a\u001b[31mb\u0007', action: 'quit', isError: 'yes', more: 1 };
  expect(await collectedFrom(() => returned as unknown as CommandOutput).execute('', context)).toEqual({
    output: 'ab',
    action: 'quit',
  });
  const long = (await collectedFrom(() => 'x'.repeat(200_000)).execute('', context)) as { output: string };
  expect(long.output).toMatch(/^x{100000}\n\(cut: 200000 characters\)$/);
});

test.each([[undefined], [null], [5], [{}], [{ output: 5 }]])('%j is not a valid output', async (returned) => {
  const command = collectedFrom(() => returned as unknown as string);
  await expect(async () => command.execute('', context)).rejects.toThrow(
    'it returned neither a string nor an object',
  );
});

test('a command that takes too long fails', async () => {
  vi.useFakeTimers();
  const late = collectedFrom(() => new Promise<string>(() => undefined)).execute('', context);
  const rejected = expect(late).rejects.toThrow('it took longer than 60000 ms');
  await vi.advanceTimersByTimeAsync(60_000);
  await rejected;
  vi.useRealTimers();
});
