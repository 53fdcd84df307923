import { type PluginLogger, silentLogger } from '@harness/plugin-kit';
import { expect, test, vi } from 'vitest';
import { createPluginLogger } from './plugin-logger.ts';

const failure = new Error('broken');

test.each([
  [['ready'], ['ready']],
  [
    [{ port: 1 }, 'ready'],
    [{ port: 1 }, 'ready'],
  ],
  [
    ['ready', { port: 1 }],
    [{ port: 1 }, 'ready'],
  ],
  [
    ['failed', failure],
    [{ err: failure }, 'failed'],
  ],
  [
    [failure, 'failed'],
    [{ err: failure }, 'failed'],
  ],
  [
    ['seen', 5],
    [{ details: 5 }, 'seen'],
  ],
  [
    ['seen', ['a']],
    [{ details: ['a'] }, 'seen'],
  ],
  [[{ port: 1 }], [{ port: 1 }, undefined]],
] as [Parameters<PluginLogger['info']>, unknown[]][])('%j keeps its fields', (args, line) => {
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    const write = vi.fn();
    createPluginLogger({ ...silentLogger, [level]: write })[level](...args);
    expect(write.mock.calls).toEqual([line]);
  }
});
