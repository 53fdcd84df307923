import { AppError } from '@harness/contracts';
import { describe, expect, it, vi } from 'vitest';
import { callTool, failure, meta, pluginOf, serverOf, toolOf } from '../../test/tool-server-fixture.ts';
import type { PluginTool, PluginToolMeta } from '../contract/contract.ts';
import { collectTools } from '../host/collect.ts';
import { createDetachedContext, silentLogger } from '../host/detached-context.ts';
import { createToolServer } from './tool-server.ts';

describe('a failure of the tool is a result', () => {
  const throwing = (thrown: unknown) =>
    callTool({
      handler: () => {
        throw thrown;
      },
    });

  it('with the message of what was thrown, sync or not', async () => {
    expect(await throwing(new Error('disk full'))).toMatchObject(failure('tool_failed', 'disk full'));
    const handler = () => Promise.reject(new AppError('too_many_children', 'Five at most.'));
    expect(await callTool({ handler })).toMatchObject(failure('too_many_children', 'Five at most.'));
  });

  it('and is logged with its cause', async () => {
    const warn = vi.fn();
    const cause = new Error('disk full');
    const server = serverOf([toolOf({ handler: () => Promise.reject(cause) })], {
      logger: { ...silentLogger, warn },
    });
    await server.call('p__tool', { input: {}, meta });
    expect(warn).toHaveBeenCalledWith(
      expect.objectContaining({ err: cause, tool: 'p__tool' }),
      expect.any(String),
    );
  });
});

describe('time', () => {
  const untilAborted = (signal: AbortSignal) =>
    new Promise<unknown>((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)));

  it('a tool that exceeds its limit is stopped: a result, an aborted signal, no more progress', async () => {
    const progress = vi.fn();
    let reason: Promise<unknown> | undefined;
    let late: (() => void) | undefined;
    const handler: PluginTool['handler'] = (_ctx, _input, { signal, progress: step }) => {
      step(1, 2, 'half');
      late = () => step(2, 2);
      reason = untilAborted(signal);
      return new Promise<string>(() => {});
    };
    const server = serverOf([toolOf({ handler, timeoutMs: 10 })]);
    expect(await server.call('p__tool', { input: {}, meta: { ...meta, progress } })).toMatchObject(
      failure('tool_timeout', '10 ms'),
    );
    expect(await reason).toMatchObject({ code: 'tool_timeout' });
    late?.();
    expect(progress).toHaveBeenCalledExactlyOnceWith(1, 2, 'half');
  });

  it('the default limit comes from the deps', async () => {
    const handler = () => new Promise<string>(() => {});
    const server = serverOf([toolOf({ handler })], { defaultTimeoutMs: 10 });
    expect(await server.call('p__tool', { input: {}, meta })).toMatchObject(failure('tool_timeout'));
  });

  it('the caller’s signal ends the call, even if the handler ignores it', async () => {
    const caller = new AbortController();
    const handler = vi.fn(() => new Promise<string>(() => caller.abort()));
    const server = serverOf([toolOf({ handler })]);
    const call = () => server.call('p__tool', { input: {}, meta: { ...meta, signal: caller.signal } });
    expect(await call()).toMatchObject(failure('turn_cancelled'));
    expect(await call()).toMatchObject(failure('turn_cancelled'));
    expect(handler).toHaveBeenCalledOnce();
  });
});

describe('where a call comes from', () => {
  it('concurrent calls each see their own thread', async () => {
    const gate = Promise.withResolvers<void>();
    const handler: PluginTool['handler'] = async (_ctx, _input, { threadId, taskId }) => {
      await gate.promise;
      return `${threadId}/${taskId ?? 'none'}`;
    };
    const server = serverOf([toolOf({ handler })]);
    const calls = ['t1', 't2', 't3'].map((threadId) =>
      server.call('p__tool', {
        input: {},
        meta: { threadId, ...(threadId === 't2' ? { taskId: 'task_2' } : {}) },
      }),
    );
    gate.resolve();
    expect(await Promise.all(calls)).toMatchObject(
      ['t1/none', 't2/task_2', 't3/none'].map((text) => ({ content: [{ text }] })),
    );
  });

  it('adds defaults to a minimal meta', async () => {
    let seen: PluginToolMeta | undefined;
    await callTool({
      handler: async (ctx, _input, given) => {
        seen = given;
        given.progress(1);
        await ctx.store.set('k', 1);
        return String(await ctx.store.get('k'));
      },
    });
    expect(seen).toMatchObject({ threadId: 't1', principal: { scopes: [] } });
    expect(seen?.signal.aborted).toBe(false);
    expect(seen).not.toHaveProperty('taskId');
  });

  it('gives each plugin its own context', async () => {
    const handler: PluginTool['handler'] = (ctx) => String(ctx.config.name);
    const contextOf = (name: string) => createDetachedContext({ config: { name } });
    const collected = collectTools([
      pluginOf('one', toolOf({ handler })),
      pluginOf('two', toolOf({ handler })),
    ]);
    const server = createToolServer(collected, { contextOf });
    expect(await server?.call('two__tool', { input: {}, meta })).toEqual({
      content: [{ type: 'text', text: 'two' }],
    });
  });

  it('a call of an unknown tool rejects', async () => {
    const call = serverOf([toolOf()]).call('p__other', { input: {}, meta });
    await expect(call).rejects.toMatchObject({ code: 'tool_not_found' });
  });
});
