import { randomUUID } from 'node:crypto';
import { signThreadToken } from '@harness/contracts';
import { definePlugin } from '@harness/plugin-kit';
import { builtInPlugins } from '@harness/plugins';
import { Client as ModernClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, onTestFinished, test } from 'vitest';
import {
  bearer,
  connectTestRedis,
  type Gateway,
  openFakeWorker,
  openGateway,
  tokenSecret,
} from '../fixture.ts';
import { openAgents, openSkills, writeSkill } from '../skill-folder.ts';

/** Calls another tool with the rights of its caller. */
const relay = definePlugin({
  name: 'relay',
  version: '1.0.0',
  tools: [
    {
      name: 'call',
      description: 'Calls tools one after the other and tells what the last one said',
      schema: { type: 'object', properties: { names: { type: 'array', items: { type: 'string' } } } },
      async handler(ctx, { names }) {
        let last = '';
        for (const name of names as string[]) last = JSON.stringify((await ctx.tools.call(name, {})).content);
        return last;
      },
    },
  ],
  resourceTemplates: [
    {
      uriTemplate: 'relay://task/{n}', // a new URI each time: clients cache resources
      name: 'A new task',
      read: async (ctx) => JSON.stringify(await ctx.tools.call('delegation__delegate', { prompt: 'x' })),
    },
  ],
  register: () => undefined,
});

/** A session with a run in progress on its thread, like a worker's. */
async function openSession(gateway: Gateway, threadId: string) {
  const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
  await gateway.dispatch.runs.append({
    tenant: 'default',
    threadId,
    request: { input: 'x' },
    idempotencyKey: randomUUID(),
  });
  const turn = await worker.begin(threadId);
  const claims = { threadId, tenant: 'default', epoch: turn.hold.epoch, tools: turn.allowedTools };
  const requestInit = { headers: bearer(await signThreadToken(claims, tokenSecret)) };
  const client = new ModernClient(
    { name: 'session', version: '1' },
    {
      versionNegotiation: { mode: { pin: '2026-07-28' } },
      listChanged: { tools: { onChanged: () => wake() } },
    },
  );
  let wake: () => void = () => undefined;
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', gateway.url), { requestInit }));
  onTestFinished(() => client.close());
  return {
    turn,
    list: async () => (await client.listTools()).tools.map(({ name }) => name).sort(),
    read: (uri: string) => client.readResource({ uri }),
    call: (name: string, args: Record<string, unknown> = {}) => client.callTool({ name, arguments: args }),
    /** The notification of changed tools that the client gets after `step`. */
    async changedAfter(step: () => Promise<unknown>) {
      const changed = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await step();
      await changed;
    },
  };
}

const open = async (skills: Record<string, string>) => {
  const folder = await openSkills();
  for (const [name, front] of Object.entries(skills))
    await writeSkill(folder, name, { body: `Do ${name}.`, front });
  return openGateway({ skillsDirectory: folder, plugins: [...builtInPlugins, relay] });
};
const newThread = async (gateway: Gateway): Promise<string> =>
  (await gateway.call('POST', '/v1/threads', { body: {} })).body.threadId;

test('a skill that a session follows limits it to the skill’s tools until the run ends', async () => {
  const gateway = await open({
    wide: 'allowed-tools: time__current_time skill__narrow relay__call\n',
    narrow: 'allowed-tools: time__current_time delegation__delegate\n',
  });
  const session = await openSession(gateway, await newThread(gateway));
  expect(await session.list()).toContain('delegation__delegate');
  await session.changedAfter(() => session.call('skill__wide'));
  expect(await session.list()).toEqual(['relay__call', 'skill__narrow', 'time__current_time']);
  await expect(session.call('delegation__delegate', { prompt: 'x' })).rejects.toThrow(/not allowed/);
  const relayed = await session.call('relay__call', { names: ['delegation__delegate'] });
  expect(relayed).toMatchObject({ isError: true });
  // A nested skill cannot allow more than the outer one.
  await session.changedAfter(() => session.call('skill__narrow'));
  expect(await session.list()).toEqual(['time__current_time']);
  expect(await session.call('time__current_time')).not.toHaveProperty('isError', true);

  const { turn } = session;
  await session.changedAfter(() =>
    gateway.dispatch.lease.commit(turn, { status: 'success', result: 'done' }),
  );
  expect(await session.list()).toContain('delegation__delegate');
});

test('a tool that calls a skill is limited by it from then on', async () => {
  const gateway = await open({ narrow: 'allowed-tools: time__current_time\n' });
  const session = await openSession(gateway, await newThread(gateway));
  const both = await session.call('relay__call', { names: ['skill__narrow', 'delegation__checkin'] });
  expect(both).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('not allowed') }] });
});

test('resources and prompts are limited by it, too', async () => {
  const gateway = await open({ narrow: 'allowed-tools: time__current_time\n' });
  const threadId = await newThread(gateway);
  const session = await openSession(gateway, threadId);
  await session.read('relay://task/1');
  const tasks = async () => (await gateway.call('GET', '/v1/tasks')).body.tasks;
  expect(await tasks()).toMatchObject([{ parentThreadId: threadId }]);
  await session.call('skill__narrow');
  await expect(session.read('relay://task/2')).rejects.toThrow();
  expect(await tasks()).toHaveLength(1);
});

test('sub-agents of a narrowed session have no more tools than it', async () => {
  const gateway = await open({
    helper: 'allowed-tools: time__current_time skill__fork delegation__delegate\n',
    fork: 'context: fork\nallowed-tools: time__current_time context__* delegation__checkin\n',
  });
  const session = await openSession(gateway, await newThread(gateway));
  await session.call('skill__helper');
  const { structuredContent } = await session.call('delegation__delegate', { prompt: 'x' });
  const { threadId } = structuredContent as { threadId: string };
  const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
  expect((await worker.begin(threadId)).allowedTools?.sort()).toEqual([
    'delegation__delegate',
    'skill__fork',
    'skill__helper_*',
    'time__current_time',
  ]);
});

test('an active skill and an agent determine the session of the next turn', async () => {
  const folder = await openSkills();
  await writeSkill(folder, 'tea', {
    body: 'Steep it.',
    front: 'allowed-tools: time__current_time context__x\nmodel: small\n',
  });
  const agents = await openAgents({
    clerk: 'tools: mcp__harness__time__current_time, delegation__*\nmodel: sonnet',
  });
  const gateway = await openGateway({ skillsDirectory: folder, agentsDirectory: agents });
  const { body: listed } = await gateway.call('GET', '/v1/agents');
  expect(listed).toEqual({
    agents: [
      {
        name: 'clerk',
        description: 'About clerk',
        model: 'sonnet',
        tools: ['time__current_time', 'delegation__*'],
      },
    ],
    diagnostics: [],
  });
  const threadId = await newThread(gateway);
  const command = async (line: string) =>
    (await gateway.call('POST', `/v1/threads/${threadId}/commands`, { body: { command: line } })).body;
  expect(await command('/agent clerk')).toMatchObject({
    isError: false,
    output: expect.stringContaining('"clerk"'),
  });
  const session = await openSession(gateway, threadId);
  expect(session.turn).toMatchObject({
    model: 'sonnet',
    agent: { name: 'clerk', instructions: 'You are clerk.' },
    skill: undefined,
  });
  expect(await session.list()).toEqual(['delegation__checkin', 'delegation__delegate', 'time__current_time']);
  await gateway.dispatch.lease.commit(session.turn, { status: 'success' });
  await gateway.dispatch.lease.release(session.turn.hold);
  expect(await command('/use tea')).toMatchObject({ isError: false });
  const { turn, list } = await openSession(gateway, threadId);
  expect(turn).toMatchObject({ model: 'small', skill: { name: 'tea', instructions: 'Steep it.' } });
  expect(await list()).toEqual(['time__current_time']);
  await command('/use');
  expect((await gateway.call('GET', `/v1/threads/${threadId}`)).body).toMatchObject({
    agent: 'clerk',
    skill: null,
  });
});
