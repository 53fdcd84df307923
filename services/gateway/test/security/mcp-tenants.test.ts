import { definePlugin, needInput } from '@harness/plugin-kit';
import { expect, test } from 'vitest';
import { bearer, connectTestRedis, keyFor, openFakeWorker, openGateway } from '../fixture.ts';
import { beginSession, modernCaller, type Wire } from '../mcp-wire.ts';

/** A plugin whose every feature asks a model first. */
const curious = definePlugin({
  name: 'curious',
  version: '1.0.0',
  tools: [
    {
      name: 'job',
      description: 'Of a test',
      schema: {},
      task: 'required',
      beforeTask: async ({ invoker }) =>
        needInput({
          who: { method: 'elicitation/create', params: { message: await invoker.invoke('before a task') } },
        }),
      handler: () => 'never',
    },
  ],
  resources: [{ uri: 'curious://r', name: 'r', read: ({ invoker }) => invoker.invoke('a resource') }],
  prompts: [{ name: 'p', get: ({ invoker }) => invoker.invoke('a prompt') }],
  register: () => undefined,
});

const headers = bearer('theirs');
const capabilities = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
const modern = modernCaller({ headers, capabilities });
type Ask = (url: string) => Promise<Wire>;
const inSession =
  (method: string, params: object): Ask =>
  async (url) =>
    (await beginSession(url, { headers })).request(url, method, { params });

test.each<[what: string, ask: Ask]>([
  ['a resource, 2025', inSession('resources/read', { uri: 'curious://r' })],
  ['a prompt, 2025', inSession('prompts/get', { name: 'curious__p' })],
  ['a resource, 2026', (url) => modern.request(url, 'resources/read', { params: { uri: 'curious://r' } })],
  ['a prompt, 2026', (url) => modern.request(url, 'prompts/get', { params: { name: 'curious__p' } })],
  ['what is asked before a task', (url) => modern.call(url, 'curious__job')],
])('%s: what the plugin asks a model stays within the caller’s tenant', async (_what, ask) => {
  const { dispatch, url } = await openGateway({
    keys: [keyFor('theirs', { tenant: 'they' })],
    plugins: [curious],
  });
  const worker = await openFakeWorker(dispatch, connectTestRedis());
  const answer = ask(url).then((wire) => wire.message());
  const threadsOf = async (tenant: string) =>
    (await dispatch.threads.list(tenant, { limit: 9 })).threads.map(({ thread }) => thread);
  await expect
    .poll(async () => [...(await threadsOf('they')), ...(await threadsOf('default'))])
    .toHaveLength(1);
  const [thread] = await threadsOf('they');
  expect(thread?.metadata).toMatchObject({ plugin: 'curious' });
  await worker.finish(String(thread?.threadId), { status: 'success', result: 'told by the model' });
  expect(JSON.stringify((await answer).result)).toContain('told by the model');
});
