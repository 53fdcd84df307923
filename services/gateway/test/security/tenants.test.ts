import { createHash } from 'node:crypto';
import type { Thread } from '@harness/contracts';
import { definePlugin, type PluginContext } from '@harness/plugin-kit';
import { builtInPlugins } from '@harness/plugins';
import { expect, test } from 'vitest';
import { bearer, connectTestRedis, type Gateway, keyFor, openFakeWorker, openGateway } from '../fixture.ts';

const keys = ['acme', 'umbrella', 'default'].map((tenant) => keyFor(`key-of-${tenant}`, { tenant }));
const page = { limit: 50, offset: 0 };

/** A plugin that asks a model in a tool, in a hook, and outside any call. */
function openAsker() {
  let own: PluginContext | undefined;
  const plugin = definePlugin({
    name: 'asker',
    version: '1.0.0',
    tools: [
      {
        name: 'ask',
        description: 'Asks a model',
        schema: {},
        handler: (ctx, { question }) => ctx.invoker.invoke(String(question)),
      },
    ],
    register(ctx) {
      own = ctx;
      return {
        onMessage: async (_threadId, _role, content) => void (await ctx.invoker.invoke(content)),
        onTaskCreate: async (_threadId, taskId) => void (await ctx.invoker.invoke(taskId)),
      };
    },
  });
  return { plugin, ask: (question: string) => own?.invoker.invoke(question) };
}

/** The plugin's threads, recognised by their metadata, as soon as there is one. */
async function askedOn({ dispatch }: Gateway, tenant: string): Promise<Thread> {
  const asked = async () =>
    (await dispatch.threads.list(tenant, page)).threads
      .map(({ thread }) => thread)
      .filter(({ metadata }) => metadata.plugin === 'asker');
  await expect.poll(async () => (await asked()).map(({ state }) => state)).toEqual(['busy']);
  return (await asked())[0] as Thread;
}

test('a plugin’s request to a model within a call stays within the caller’s tenant', async () => {
  const { plugin, ask } = openAsker();
  const gateway = await openGateway({ keys, plugins: [plugin] });
  const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
  const answered = async (asking: Promise<unknown>, tenant: string) => {
    const { threadId } = await askedOn(gateway, tenant);
    await worker.finish(threadId, { status: 'success', result: `for ${tenant}` });
    return { threadId, answer: await asking };
  };
  const asTool = (tenant: string) =>
    gateway.call('POST', '/v1/tools/asker__ask', {
      body: { arguments: { question: 'x' } },
      headers: bearer(`key-of-${tenant}`),
    });

  const acme = await answered(asTool('acme'), 'acme');
  expect(acme.answer).toMatchObject({ status: 200, body: { content: [{ text: 'for acme' }] } });
  expect((await gateway.dispatch.threads.list('default', page)).threads).toEqual([]);
  const umbrella = await answered(asTool('umbrella'), 'umbrella');
  expect(umbrella.threadId).not.toBe(acme.threadId);
  expect((await answered(asTool('acme'), 'acme')).threadId).toBe(acme.threadId); // one conversation per key
  const foreign = await gateway.call('GET', `/v1/threads/${acme.threadId}/runs`, {
    headers: bearer('key-of-umbrella'),
  });
  expect(foreign.status).toBe(404);

  const { body } = await gateway.call('POST', '/v1/threads', { body: {}, headers: bearer('key-of-acme') });
  const message = gateway.call('POST', `/v1/threads/${body.threadId}/runs`, {
    body: { input: 'hi' },
    headers: bearer('key-of-acme'),
  });
  expect((await answered(message, 'acme')).threadId).toBe(acme.threadId);
  const task = gateway.call('POST', '/v1/tasks', { body: { prompt: 'x' }, headers: bearer('key-of-acme') });
  expect((await answered(task, 'acme')).threadId).toBe(acme.threadId);
  expect((await gateway.dispatch.threads.list('default', page)).threads).toEqual([]);

  const byItself = await answered(Promise.resolve(ask('x')), 'default');
  expect(byItself.answer).toBe('for default');
});

test('no tenant can occupy a thread id that another tenant’s key or plugin will need', async () => {
  const { plugin, ask } = openAsker();
  const gateway = await openGateway({ keys, plugins: [...builtInPlugins, plugin] });
  // Public or guessable values of the others, hashed without the secret, as earlier versions did.
  const guesses = [
    ['default', 'acme', 'key-of-acme'],
    ['invoke', 'asker', 'default'],
    ['invoke', 'default', 'asker', 'default'],
  ].map((parts) => `thr_${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)}`);
  for (const threadId of guesses) {
    const taken = await gateway.call('POST', '/v1/threads', {
      body: { threadId },
      headers: bearer('key-of-umbrella'),
    });
    expect(taken.status).toBe(201);
  }
  const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
  const asked = ask('x');
  await worker.finish((await askedOn(gateway, 'default')).threadId, { status: 'success', result: 'fine' });
  expect(await asked).toBe('fine');

  const input = { arguments: { prompt: 'count' } };
  const delegating = gateway.call('POST', '/v1/tools/delegation__delegate', {
    body: input,
    headers: bearer('key-of-acme'),
  });
  await worker.finish((await askedOn(gateway, 'acme')).threadId); // the hook's question about the new task
  const { status, body } = await delegating;
  expect([status, body.isError]).toEqual([200, false]);
  const task = await gateway.dispatch.tasks.get('acme', body.structuredContent.taskId);
  expect(guesses).not.toContain(task.parentThreadId);
});

test('a tool that a plugin calls in a hook runs for the tenant of the thread', async () => {
  const plugin = definePlugin({
    name: 'clerk',
    version: '1.0.0',
    register: (ctx) => ({
      onMessage: async (_threadId, _role, taskId) =>
        void (await ctx.tools.call('bus__submit_task', { taskId })),
    }),
  });
  const gateway = await openGateway({ keys, plugins: [...builtInPlugins, plugin] });
  const acme = bearer('key-of-acme');
  const { body } = await gateway.call('POST', '/v1/threads', { body: {}, headers: acme });
  await gateway.call('POST', `/v1/threads/${body.threadId}/runs`, {
    body: { input: 'from-acme' },
    headers: acme,
  });
  const tasksOf = async (tenant: string) =>
    (await gateway.dispatch.bus.tasks(tenant, page)).map(({ taskId }) => taskId);
  expect([await tasksOf('acme'), await tasksOf('default')]).toEqual([['from-acme'], []]);
});
