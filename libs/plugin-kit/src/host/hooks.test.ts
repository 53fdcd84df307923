import { describe, expect, it, vi } from 'vitest';
import type { PluginHooks, PluginTurn } from '../contract/contract.ts';
import { silentLogger } from './detached-context.ts';
import { createHookRunner } from './hooks.ts';

const turn: PluginTurn = { runId: 'run_1', path: 'warm', finishedRuns: 0, kind: 'message' };
const never = () => new Promise<never>(() => {});
const fail = () => {
  throw new Error('broken');
};

function runnerOf(...all: PluginHooks[]) {
  const error = vi.fn();
  const runner = createHookRunner({
    registered: all.map((hooks, index) => ({ pluginName: `p${index}`, hooks })),
    logger: { ...silentLogger, error },
    hookTimeoutMs: 15,
    reviewTimeoutMs: 40,
  });
  return { runner, error, blamed: () => error.mock.calls.map(([fields]) => fields.plugin) };
}

describe('passive hooks', () => {
  it('run in plugin order, one after another, each with its arguments', async () => {
    const seen: unknown[] = [];
    const hooksOf = (id: number): PluginHooks => ({
      async onMessage(...args) {
        await Promise.resolve();
        seen.push([id, ...args]);
      },
    });
    await runnerOf(hooksOf(0), {}, hooksOf(2)).runner.message('t', 'user', 'hi');
    expect(seen).toEqual([
      [0, 't', 'user', 'hi'],
      [2, 't', 'user', 'hi'],
    ]);
  });

  it('are isolated: a throw, a rejection or a timeout is logged with the plugin’s name', async () => {
    const last = vi.fn();
    const { runner, blamed } = runnerOf(
      { onAfterInvoke: fail },
      { onAfterInvoke: async () => fail() },
      { onAfterInvoke: never },
      { onAfterInvoke: last },
    );
    await runner.afterInvoke('t', 'result');
    expect(last).toHaveBeenCalledWith('t', 'result');
    expect(blamed()).toEqual(['p0', 'p1', 'p2']);
  });

  it('exist for tasks and broadcasts', async () => {
    const hooks = { onTaskCreate: vi.fn(), onTaskFailed: vi.fn(), onBroadcast: vi.fn() };
    const { runner } = runnerOf(hooks);
    const failure = { code: 'model_error', message: 'gone' };
    await runner.taskCreate('t', 'k');
    await runner.taskFailed('t', 'k', failure);
    await runner.broadcast('event', { a: 1 });
    expect(hooks.onTaskCreate).toHaveBeenCalledWith('t', 'k');
    expect(hooks.onTaskFailed).toHaveBeenCalledWith('t', 'k', failure);
    expect(hooks.onBroadcast).toHaveBeenCalledWith('event', { a: 1 });
  });
});

describe('beforeInvoke', () => {
  it('chains the rewrites and passes the turn', async () => {
    const second = vi.fn(async (_threadId: string, prompt: string) => `${prompt}!`);
    const { runner } = runnerOf(
      { onBeforeInvoke: (_threadId, prompt) => prompt.toUpperCase() },
      { onBeforeInvoke: second },
    );
    expect(await runner.beforeInvoke('t', 'hi', turn)).toBe('HI!');
    expect(second).toHaveBeenCalledWith('t', 'HI', turn);
  });

  it('keeps the prompt when a hook fails, hangs or returns no string', async () => {
    const returning = (value: unknown) => ({ onBeforeInvoke: (() => value) as () => string });
    const { runner, blamed } = runnerOf(
      { onBeforeInvoke: fail },
      { onBeforeInvoke: never },
      returning(undefined),
      returning(5),
      returning(null),
      { onBeforeInvoke: (_threadId, prompt) => `${prompt} there` },
    );
    expect(await runner.beforeInvoke('t', 'hi', turn)).toBe('hi there');
    expect(blamed()).toEqual(['p0', 'p1', 'p3', 'p4']);
  });
});

describe('taskComplete', () => {
  const verdictOf = (...answers: (() => unknown)[]) =>
    runnerOf(
      ...answers.map((answer) => ({ onTaskComplete: answer as NonNullable<PluginHooks['onTaskComplete']> })),
    ).runner.taskComplete('t', 'k', 'result');
  const rejected = { accepted: false, feedback: 'Say more.' };

  it('accepts without a hook, for undefined and for an acceptance', async () => {
    expect(await runnerOf({}).runner.taskComplete('t', 'k', 'r')).toEqual({ accepted: true });
    expect(
      await verdictOf(
        () => undefined,
        async () => ({ accepted: true }),
      ),
    ).toEqual({ accepted: true });
  });

  it('returns the first rejection, and calls every hook', async () => {
    const later = vi.fn(() => ({ accepted: false, feedback: 'Too late.' }));
    expect(
      await verdictOf(
        () => ({ accepted: true }),
        async () => rejected,
        fail,
        later,
        later,
      ),
    ).toEqual(rejected);
    expect(later).toHaveBeenCalledTimes(2);
  });

  it.each([
    ['a throw', fail, 'broken'],
    ['a rejection', async () => fail(), 'broken'],
    ['a time-out', never, 'longer than 40 ms'],
    ['null', () => null, 'neither'],
    ['true', () => true, 'neither'],
    ['a truthy word', () => ({ accepted: 'yes' }), 'neither'],
    ['a rejection without feedback', () => ({ accepted: false }), 'neither'],
    ['a rejection with blank feedback', () => ({ accepted: false, feedback: ' ' }), 'neither'],
  ])(
    'is not accepted after %s, and the feedback says that the review failed',
    async (_what, answer, reason) => {
      const verdict = await verdictOf(answer);
      expect(verdict).toEqual({ accepted: false, feedback: expect.stringContaining(reason) });
      expect(verdict).toHaveProperty('feedback', expect.stringContaining('review by the plugin "p0" failed'));
    },
  );

  it('has its own, longer time limit', async () => {
    const slow = () => new Promise((resolve) => setTimeout(() => resolve({ accepted: true }), 20));
    expect(await verdictOf(slow)).toEqual({ accepted: true });
  });
});
