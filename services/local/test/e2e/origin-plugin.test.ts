import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Task } from '@harness/contracts';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';

const path = fileURLToPath(new URL('../origin-plugin.cjs', import.meta.url));

test('a plugin of the old harness runs unchanged: every hook, every part of the context', async () => {
  const fleet = await openFleet({ env: { HARNESS_PLUGINS: path } });
  const { plugins, diagnostics } = await fleet.get<{
    plugins: { name: string; tools: string[] }[];
    diagnostics: { message: string }[];
  }>('/v1/plugins');
  expect(plugins.find(({ name }) => name === 'MyOldPlugin')?.tools).toContain('MyOldPlugin__use_context');
  expect(diagnostics.map(({ message }) => message)).toEqual([
    expect.stringContaining('onCommand is ignored'),
  ]);

  const threadId = await fleet.thread();
  const used = await fleet.ask(threadId, 'call: MyOldPlugin__use_context {"question": "stream: 3"}');
  expect(JSON.parse(used.result?.replace('The tool answered: ', '') ?? '')).toEqual({
    answer: '1 2 3',
    streamed: true,
    role: 'gateway',
    config: 'object',
    thread: true,
    history: 0,
    time: true,
    gone: null,
    tenant: 'default',
    hasRun: true,
  });
  const delegated = await fleet.ask(threadId, 'call: MyOldPlugin__start_task {"prompt": "say: done"}');
  expect(delegated.result).toContain('true completed');
  const failing = await fleet.post<Task>('/v1/tasks', { prompt: 'fail: 400' });
  const failed = ({ type }: { type: string }) => type === 'task.failed';
  await fleet.watch(`/v1/threads/${failing.threadId}/events?follow=true`, failed);
  const hello = await fleet.ask(threadId, 'rewritten by nobody');
  expect(hello.result).toBe('You said: rewritten by a hook');

  // Hooks may run for a moment after the run has its result.
  const seen = async () => {
    const response = await fleet.post<{ content: { text: string }[] }>('/v1/tools/MyOldPlugin__tell_all', {});
    return JSON.parse(response.content[0]?.text ?? '');
  };
  await expect.poll(seen).toEqual({
    started: true,
    message: [threadId, 'assistant'],
    before: threadId,
    after: [threadId, 'You said: rewritten by a hook'],
    created: [failing.threadId, failing.taskId],
    completed: [expect.stringMatching(/^thr_/), expect.stringMatching(/^task_/), 'done'],
    failed: [failing.threadId, failing.taskId, 'model_error'],
    broadcast: ['origin.used', { by: threadId }],
  });
});

test('built-in plugins can be left out, and other plugins may use their names', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'harness-plugin-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const own = join(folder, 'own.mjs');
  const handler = "handler: () => 'my own'";
  const tool = `{ name: 'delegate', description: 'Mine.', schema: {}, ${handler} }`;
  await writeFile(
    own,
    `export const plugin = { name: 'delegation', version: '2', register() {}, tools: [${tool}] };`,
  );
  const fleet = await openFleet({
    env: { HARNESS_DISABLED_PLUGINS: 'delegation, validation,bus,nothing', HARNESS_PLUGINS: own },
  });
  const { plugins, diagnostics } = await fleet.get<{
    plugins: { name: string; version: string }[];
    diagnostics: { message: string }[];
  }>('/v1/plugins');
  expect(plugins.map(({ name, version }) => `${name} ${version}`)).toEqual([
    'time 1.0.0',
    'context 1.0.0',
    'skill 1.0.0',
    'delegation 2',
  ]);
  expect(diagnostics.map(({ message }) => message)).toEqual([
    expect.stringContaining('no built-in plugin "nothing"'),
  ]);
  const run = await fleet.ask(await fleet.thread(), 'call: delegation__delegate {}');
  expect(run.result).toContain('my own');
  await expect(fleet.get('/v1/bus/status')).rejects.toThrow('HARNESS_DISABLED_PLUGINS');
});
