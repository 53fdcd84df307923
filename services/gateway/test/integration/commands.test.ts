import { definePlugin } from '@harness/plugin-kit';
import { builtInPlugins } from '@harness/plugins';
import { createLogger } from '@harness/runtime';
import { expect, test, vi } from 'vitest';
import {
  bearer,
  connectTestRedis,
  type GatewayOptions,
  keyFor,
  openFakeWorker,
  openGateway,
  probe,
} from '../fixture.ts';
import { openSkills, writeSkill } from '../skill-folder.ts';

const builtInNames = [
  ...['agent', 'cancel', 'clear', 'delegate', 'exit', 'help', 'model', 'prewarm', 'quit', 'skills', 'status'],
  ...['tasks', 'tools', 'use'],
];

async function openThread(options: GatewayOptions = {}) {
  const gateway = await openGateway(options);
  const { threadId } = (await gateway.call('POST', '/v1/threads', { body: {} })).body;
  const path = `/v1/threads/${threadId}`;
  return {
    gateway,
    threadId,
    thread: async () => (await gateway.call('GET', path)).body,
    run: async (command: string) =>
      (await gateway.call('POST', `${path}/commands`, { body: { command } })).body,
    list: async () =>
      (await gateway.call('GET', '/v1/commands')).body.commands as { name: string; group: string }[],
  };
}
const namesIn = (commands: { name: string; group: string }[], group: string) =>
  commands.filter((command) => command.group === group).map(({ name }) => name);

test('/help lists every command by group, and explains one; an unknown command is named', async () => {
  const folder = await openSkills(['inner']);
  await writeSkill(folder, 'tea', { front: 'user-invocable: true\n' });
  const { run, list } = await openThread({ skillsDirectory: folder, plugins: [...builtInPlugins, greeter] });
  const all = await list();
  expect(namesIn(all, 'built-in')).toEqual(builtInNames);
  expect([namesIn(all, 'skill'), namesIn(all, 'plugin')]).toEqual([['tea'], ['greet']]);

  const { output, isError } = await run('/help');
  expect(isError).toBe(false);
  const [builtIn, skills, plugins] = (output as string).split('\n\n');
  expect(builtIn?.match(/^ {2}\/[a-z]+/gm)?.map((line) => line.slice(3))).toEqual(builtInNames);
  expect(skills).toMatch(/^Skill commands:\n {2}\/tea \[message\] +About tea$/);
  expect(plugins).toMatch(/^Plugin commands:\n {2}\/greet <name> +Greets$/);
  for (const one of ['/help use', '/help /use', 'help use'])
    expect((await run(one)).output).toBe(
      '/use [skill] (built-in)\n  Makes a skill active on this thread; without a name, ends it',
    );
  expect(await run('/help nothing')).toMatchObject({
    isError: true,
    output: expect.stringContaining('/nothing'),
  });
  expect(await run('/nothing at all')).toMatchObject({
    isError: true,
    output: expect.stringContaining('/nothing'),
  });
});

test('/use and /<skill> store the skill on the thread and confirm; /use without a name ends it', async () => {
  const { run, thread } = await openThread({
    skillsDirectory: await openSkills(['tea', '3d-print']),
    skillCommands: 'all',
  });
  expect(await run('/use tea')).toEqual({
    isError: false,
    output: expect.stringContaining('"tea" is active'),
  });
  expect((await thread()).skill).toBe('tea');
  expect((await run('/skills')).output).toMatch(/3d-print +About 3d-print\n {2}tea \(active\) +About tea/);
  expect(await run('/3d-print')).toMatchObject({
    isError: false,
    output: expect.stringContaining('3d-print'),
  });
  expect((await thread()).skill).toBe('3d-print');
  expect(await run('/use coffee')).toMatchObject({
    isError: true,
    output: expect.stringContaining('"coffee"'),
  });
  expect((await thread()).skill).toBe('3d-print');
  expect((await run('/use')).output).toBe('The skill "3d-print" is no longer active.');
  expect((await thread()).skill).toBeNull();
  expect(await run('/use')).toMatchObject({
    isError: false,
    output: expect.stringContaining('No skill is active'),
  });
});

test('the text after the name of a skill is sent to the thread, once', async () => {
  const { gateway, run, thread, threadId } = await openThread({
    skillsDirectory: await openSkills(['tea']),
    skillCommands: 'all',
  });
  const { runId, isError } = await run('/tea a pot of oolong');
  expect([isError, (await thread()).skill]).toEqual([false, 'tea']);
  const turn = await (await openFakeWorker(gateway.dispatch, connectTestRedis())).finish(threadId);
  expect(turn).toMatchObject({ runId, input: 'a pot of oolong', kind: 'message' });
  expect((await gateway.call('GET', `/v1/threads/${threadId}/runs`)).body.runs).toHaveLength(1);
});

test('a message that begins with a slash is a message', async () => {
  const { gateway, thread, threadId } = await openThread({
    skillsDirectory: await openSkills(['tea']),
    skillCommands: 'all',
  });
  await gateway.call('POST', `/v1/threads/${threadId}/runs`, { body: { input: '/use tea' } });
  const turn = await (await openFakeWorker(gateway.dispatch, connectTestRedis())).finish(threadId);
  expect([turn.input, (await thread()).skill]).toEqual(['/use tea', null]);
});

test('/model, /agent, /status, /prewarm and /tools show the thread, and change it', async () => {
  const { run, thread, threadId } = await openThread({ plugins: [probe] });
  expect((await run('/model')).output).toBe('The model is the default.');
  expect(await run('/model large')).toMatchObject({ isError: false });
  expect((await run('/model')).output).toBe('The model is large.');
  expect(await run('/model two words')).toMatchObject({ isError: true });
  expect((await thread()).model).toBe('large');
  expect(await run('/agent nobody')).toMatchObject({
    isError: true,
    output: expect.stringContaining('"nobody"'),
  });
  expect((await run('/agent')).output).toBe('This thread has no agent. There are none.');
  expect(await run('/agent none')).toMatchObject({ isError: false });
  const { output: status } = await run('/status');
  for (const line of [
    `Thread   ${threadId} (idle)`,
    'Model    large',
    'Session  cold',
    'Tools    probe__whoami, ',
  ])
    expect(status).toContain(line);
  expect(await run('/prewarm')).toMatchObject({ isError: false, output: 'The session has been requested.' });
  await run('/model default');
  expect((await thread()).model).toBeNull();
  expect((await run('/tools')).output.split('\n')).toContain('  probe__whoami');
});

test('/quit, /exit and /clear return an action for the client, and change nothing', async () => {
  const { run, thread } = await openThread();
  const before = await thread();
  expect(await run('/quit')).toEqual({ isError: false, action: 'quit', output: expect.any(String) });
  expect(await run('  exit ')).toMatchObject({ isError: false, action: 'quit' });
  expect(await run('/clear')).toMatchObject({ isError: false, action: 'clear' });
  expect(await thread()).toEqual(before);
});

test('/delegate, /tasks and /cancel', async () => {
  const { gateway, run, threadId } = await openThread();
  expect(await run('/tasks')).toMatchObject({ isError: false, output: 'This thread has no tasks.' });
  expect(await run('/delegate')).toMatchObject({ isError: true });
  const { output } = await run('/delegate make tea\nwith milk');
  const [taskId = ''] = /task_[0-9a-f]{32}/.exec(output) ?? [];
  expect((await gateway.call('GET', `/v1/tasks/${taskId}`)).body).toMatchObject({
    prompt: 'make tea\nwith milk',
    parentThreadId: threadId,
  });
  expect((await run('/tasks')).output).toBe(`Tasks:\n  ${taskId}  working, iteration 1 of 5  make tea`);
  expect((await run(`/cancel ${taskId}`)).output).toBe(`Task ${taskId} is cancelled.`);
  expect((await gateway.call('GET', `/v1/tasks/${taskId}`)).body.status).toBe('cancelled');
  expect(await run('/cancel task_none')).toMatchObject({ isError: true });
});

test('/cancel cancels waiting messages of users, and no system mail', async () => {
  const { gateway, run, threadId } = await openThread();
  const path = `/v1/threads/${threadId}/runs`;
  for (const input of ['one', 'two']) await gateway.call('POST', path, { body: { input } });
  await run('/delegate tea');
  const [task] = await gateway.dispatch.tasks.list('default', { limit: 1, offset: 0 });
  await gateway.dispatch.tasks.cancel('default', task?.taskId ?? '');
  expect((await run('/cancel')).output).toBe('2 runs are cancelled.');
  const runs = (await gateway.call('GET', path)).body.runs as { kind: string; status: string }[];
  expect(runs.map(({ kind, status }) => [kind, status])).toEqual([
    ['notification', 'pending'],
    ['message', 'cancelled'],
    ['message', 'cancelled'],
  ]);
  expect((await run('/cancel runs')).output).toBe('No run is in progress.');
});

const greeter = definePlugin({
  name: 'greeter',
  version: '1.0.0',
  tools: [
    {
      name: 'hello',
      description: 'Greets',
      schema: {},
      scope: 'tasks',
      handler: (_c, _i, m) => `hello from ${m.principal?.tenant}`,
    },
  ],
  commands: [
    {
      name: 'greet',
      description: 'Greets',
      argumentHint: '<name>',
      async execute(args, { principal }, ctx) {
        const { content } = await ctx.tools.call('greeter__hello', {});
        const [first] = content;
        return `${first?.type === 'text' ? first.text : ''} to ${args} (${principal?.keyId})`;
      },
    },
  ],
  register: () => undefined,
});

test('a plugin’s command runs with the rights of the caller, and is disabled with its plugin', async () => {
  const keys = [
    keyFor('all', { tenant: 'acme' }),
    keyFor('few', { tenant: 'acme', scopes: ['threads', 'tools'] }),
  ];
  const admin = keyFor('admin', { tenant: 'acme' });
  const gateway = await openGateway({ plugins: [greeter], keys: [...keys, admin] });
  const call = (method: string, path: string, { key, body }: { key: string; body: object }) =>
    gateway.call(method, path, { body, headers: bearer(key) });
  const { threadId } = (await call('POST', '/v1/threads', { key: 'all', body: {} })).body;
  const greet = async (key: string) =>
    (await call('POST', `/v1/threads/${threadId}/commands`, { key, body: { command: '/greet you' } })).body;
  expect(await greet('all')).toEqual({ isError: false, output: 'hello from acme to you (all)' });
  expect(await greet('few')).toMatchObject({ isError: true, output: expect.stringContaining('not allowed') });
  expect(
    (await call('POST', `/v1/threads/${threadId}/commands`, { key: 'few', body: { command: '/delegate x' } }))
      .body,
  ).toEqual({
    isError: true,
    code: 'forbidden',
    output: '/delegate failed: This key or token lacks the scope "tasks".',
  });
  await call('PATCH', '/v1/plugins/greeter', { key: 'admin', body: { enabled: false } });
  await expect.poll(async () => (await greet('all')).output).toContain('There is no command /greet');
  await call('PATCH', '/v1/plugins/greeter', { key: 'admin', body: { enabled: true } });
  await expect.poll(async () => (await greet('all')).isError).toBe(false);
});

const marked = 'user-invocable: true\n';

test('a skill is a command if marked so, in either spelling; with `all`, every skill is unless marked otherwise', async () => {
  const folder = await openSkills(['plain']);
  await writeSkill(folder, 'tea', { front: marked });
  await writeSkill(folder, 'coffee', { front: 'user_invocable: true\n' });
  await writeSkill(folder, 'inner', { front: 'user-invocable: false\n' });
  const { gateway, run, list } = await openThread({ skillsDirectory: folder });
  expect(namesIn(await list(), 'skill')).toEqual(['coffee', 'tea']);
  const { skills } = (await gateway.call('GET', '/v1/skills')).body;
  expect(skills.map(({ name, userInvocable }: Record<string, unknown>) => [name, userInvocable])).toEqual([
    ['coffee', true],
    ['inner', false],
    ['plain', false],
    ['tea', true],
  ]);
  expect(await run('/plain')).toMatchObject({ isError: true });
  for (const name of ['plain', 'inner']) expect(await run(`/use ${name}`)).toMatchObject({ isError: false });

  const all = await openThread({ skillsDirectory: folder, skillCommands: 'all' });
  expect(namesIn(await all.list(), 'skill')).toEqual(['coffee', 'plain', 'tea']);
});

test('skills’ commands follow the folder; a taken name is logged once, and keeps its owner', async () => {
  const folder = await openSkills();
  for (const name of ['help', 'greet', 'tea']) await writeSkill(folder, name, { front: marked });
  const warn = vi.fn();
  const logger = Object.assign(createLogger('test', 'silent'), { warn });
  const { gateway, run, list } = await openThread({
    skillsDirectory: folder,
    plugins: [...builtInPlugins, greeter],
    logger,
  });
  expect(namesIn(await list(), 'skill')).toEqual(['tea']);
  const { skills, diagnostics } = (await gateway.call('GET', '/v1/skills')).body;
  const collisions = [
    `${folder}/greet/SKILL.md: the skill "greet" has no command: /greet is a plugin command already. "/use greet" makes it active.`,
    `${folder}/help/SKILL.md: the skill "help" has no command: /help is a built-in command already. "/use help" makes it active.`,
  ];
  expect(diagnostics.map(({ message }: { message: string }) => message)).toEqual(collisions);
  expect(skills.map(({ userInvocable }: Record<string, unknown>) => userInvocable)).toEqual([
    false,
    false,
    true,
  ]);
  expect((await run('/help greet')).output).toContain('(plugin)');
  expect(await run('/use greet')).toMatchObject({ isError: false });
  await writeSkill(folder, 'coffee', { front: marked });
  await expect.poll(async () => namesIn(await list(), 'skill')).toEqual(['coffee', 'tea']);
  await writeSkill(folder, 'tea', { front: `${marked}argument-hint: a kind\n` });
  await expect.poll(async () => (await run('/help tea')).output).toContain('/tea a kind');
  await writeSkill(folder, 'tea');
  await expect.poll(async () => namesIn(await list(), 'skill')).toEqual(['coffee']);
  expect(namesIn(await list(), 'built-in')).toEqual(builtInNames);
  expect(warn.mock.calls.flat()).toEqual(collisions);
  await gateway.call('PATCH', '/v1/plugins/skill', { body: { enabled: false } });
  await expect.poll(async () => namesIn(await list(), 'skill')).toEqual([]);
  expect((await run('/skills')).output).toBe('There are no skills.');
});
