import { definePlugin, type PluginContext } from '@harness/plugin-kit';
import { builtInPlugins } from '@harness/plugins';
import { expect, test } from 'vitest';
import { bearer, type GatewayOptions, keyFor, openGateway } from '../fixture.ts';
import { openSkills, writeSkill } from '../skill-folder.ts';

const tool = (name: string, handler: (ctx: PluginContext, input: Record<string, unknown>) => unknown) => ({
  name,
  description: name,
  schema: {},
  handler: async (ctx: PluginContext, input: Record<string, unknown>) =>
    JSON.stringify((await handler(ctx, input)) ?? null),
});

/** Calls the method of `ctx` that its caller names. */
const keeper = definePlugin({
  name: 'keeper',
  version: '1.0.0',
  global: true,
  tools: [
    tool('put', (ctx, { value }) => ctx.store.set('value', value)),
    tool('get', (ctx) => ctx.store.get('value')),
    tool('share', (ctx, { value }) => ctx.global?.store.set('value', value)),
    tool('shared', (ctx) => ctx.global?.store.get('value')),
    tool('thread', (ctx, { threadId }) => ctx.threads.get(String(threadId))),
    tool('task', (ctx, { taskId }) => ctx.tasks.get(String(taskId))),
    tool('checkin', (ctx, { taskId }) => ctx.tasks.checkin({ taskId: String(taskId), message: 'x' })),
    tool('bus', (ctx, { tenant }) => ctx.bus.stats(String(tenant))),
  ],
  resources: [{ uri: 'keeper://one', name: 'one', read: () => 'one' }],
  commands: [{ name: 'keep', description: 'Keeps', execute: () => 'kept' }],
  register: () => undefined,
});
const { global: _, ...plain } = { ...keeper, name: 'plain' };

async function openTwoTenants(options: GatewayOptions = {}) {
  const keys = [
    keyFor('ada', { tenant: 'acme' }),
    keyFor('bob', { tenant: 'beta' }),
    keyFor('boss', { tenant: 'beta', scopes: ['threads', 'tools', 'admin'] }),
  ];
  const gateway = await openGateway({ keys, plugins: [keeper, plain], ...options });
  const call = async (key: string, request: string, body?: unknown) => {
    const [method = '', path = ''] = request.split(' ');
    return gateway.call(method, path, { body, headers: bearer(key) });
  };
  const use = async (key: string, name: string, input: object = {}) => {
    const { status, body } = await call(key, `POST /v1/tools/${name}`, { arguments: input });
    if (status !== 200) return body.error.code;
    return body.isError ? body.content[0].text : JSON.parse(body.content[0].text);
  };
  const toolsOf = async (key: string) =>
    (await call(key, 'GET /v1/tools')).body.tools.map(({ name }: { name: string }) => name);
  return { gateway, call, use, toolsOf };
}

test('ctx of a plugin is bound to the tenant for which it runs', async () => {
  const { call, use } = await openTwoTenants();
  await use('ada', 'keeper__put', { value: 'of acme' });
  expect([await use('ada', 'keeper__get'), await use('bob', 'keeper__get')]).toEqual(['of acme', null]);
  const { threadId } = (await call('ada', 'POST /v1/threads', {})).body;
  const { taskId } = (await call('ada', 'POST /v1/tasks', { prompt: 'x' })).body;
  expect(await use('ada', 'keeper__thread', { threadId })).toMatchObject({ threadId });
  expect(await use('ada', 'keeper__task', { taskId })).toMatchObject({ taskId });
  expect(await use('bob', 'keeper__thread', { threadId })).toBe(null);
  expect(await use('bob', 'keeper__task', { taskId })).toBe(null);
  expect(await use('bob', 'keeper__checkin', { taskId })).toContain('There is no task');
  expect(await use('ada', 'keeper__bus', { tenant: 'acme' })).toHaveProperty('workers');
  expect(await use('bob', 'keeper__bus', { tenant: 'acme' })).toContain('may not act for another');
});

test('ctx.global is for a plugin that declares it, and GET /v1/plugins shows it', async () => {
  const { call, use } = await openTwoTenants();
  await use('ada', 'keeper__share', { value: 'for all' });
  expect(await use('bob', 'keeper__shared')).toBe('for all');
  await use('ada', 'plain__share', { value: 'x' });
  expect(await use('bob', 'plain__shared')).toBe(null);
  const { plugins } = (await call('bob', 'GET /v1/plugins')).body;
  expect(plugins.map((plugin: { global: boolean }) => plugin.global)).toEqual([true, false]);
});

test('an admin disables a plugin for the own tenant; for all, it takes the scope fleet', async () => {
  const { call, use, toolsOf } = await openTwoTenants();
  const set = (key: string, body: object) => call(key, 'PATCH /v1/plugins/keeper', body);
  expect((await set('boss', { enabled: false })).body).toMatchObject({
    enabled: false,
    disabledFor: 'tenant',
  });
  await expect.poll(() => toolsOf('bob')).not.toContain('keeper__get');
  expect(await use('bob', 'keeper__get')).toBe('tool_not_found');
  expect(await use('ada', 'keeper__get')).toBe(null);
  const { threadId } = (await call('bob', 'POST /v1/threads', {})).body;
  const command = { command: '/keep' };
  expect((await call('bob', `POST /v1/threads/${threadId}/commands`, command)).body.isError).toBe(true);
  expect((await call('bob', 'GET /v1/commands')).body.commands).not.toContainEqual(
    expect.objectContaining({ name: 'keep', description: 'Keeps of keeper' }),
  );

  const refused = await set('boss', { enabled: false, for: 'all' });
  expect([refused.status, refused.body.error.message]).toEqual([403, expect.stringContaining('"fleet"')]);
  expect((await set('ada', { enabled: false, for: 'all' })).body).toMatchObject({ disabledFor: 'all' });
  await expect.poll(() => toolsOf('ada')).not.toContain('keeper__get');
  expect((await set('boss', { enabled: true })).body).toMatchObject({ enabled: false, disabledFor: 'all' });
  await set('ada', { enabled: true, for: 'all' });
  for (const key of ['ada', 'bob']) await expect.poll(() => toolsOf(key)).toContain('keeper__get');
});

test('a plugin that is given to named tenants does not exist for others', async () => {
  const tenantsOf = (plugin: string) => (plugin === 'keeper' ? ['acme'] : undefined);
  const { call, use, toolsOf } = await openTwoTenants({ tenantsOf });
  expect(await toolsOf('ada')).toContain('keeper__get');
  expect(await toolsOf('bob')).not.toContain('keeper__get');
  expect(await use('bob', 'keeper__get')).toBe('tool_not_found');
  expect((await call('bob', 'PATCH /v1/plugins/keeper', { enabled: true })).status).toBe(404);
  expect((await call('bob', 'GET /v1/plugins')).body.plugins).toHaveLength(1);
});

test('skills with tenants in their front matter are for these alone', async () => {
  const skillsDirectory = await openSkills(['open']);
  await writeSkill(skillsDirectory, 'secret', { front: 'tenants: acme\nuser-invocable: true\n' });
  const { call, use, toolsOf } = await openTwoTenants({ skillsDirectory, plugins: builtInPlugins });
  expect(await toolsOf('ada')).toContain('skill__secret');
  expect(await toolsOf('bob')).not.toContain('skill__secret');
  expect(await use('bob', 'skill__read_file', { skill: 'secret', path: 'SKILL.md' })).toContain('no skill');
  const names = async (key: string) =>
    (await call(key, 'GET /v1/skills')).body.skills.map(({ name }: { name: string }) => name);
  expect([await names('ada'), await names('bob')]).toEqual([['open', 'secret'], ['open']]);
  const { threadId } = (await call('bob', 'POST /v1/threads', {})).body;
  const active = await call('bob', `PATCH /v1/threads/${threadId}`, { skill: 'secret' });
  expect(active.body.error.code).toBe('skill_not_found');
  const use2 = await call('bob', `POST /v1/threads/${threadId}/commands`, { command: '/use secret' });
  expect(use2.body.isError).toBe(true);
});
