import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedRedis } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { connectTestRedis, openFakeWorker, openGateway } from '../fixture.ts';
import { openAgents, openSkills, writeAgent, writeSkill } from '../skill-folder.ts';

test('agents follow their files; a broken edit keeps the last good version and is reported', async () => {
  const folder = await openAgents({ clerk: '' });
  const gateway = await openGateway({ agentsDirectory: folder });
  const names = async () =>
    ((await gateway.call('GET', '/v1/agents')).body.agents as { name: string }[]).map(({ name }) => name);
  const diagnostics = async () =>
    ((await gateway.call('GET', '/v1/agents')).body.diagnostics as { message: string }[]).map(
      ({ message }) => message,
    );
  expect(await names()).toEqual(['clerk']);
  await writeAgent(folder, 'scout');
  await expect.poll(names).toEqual(['clerk', 'scout']);
  await writeFile(join(folder, 'scout.md'), '---\nname: scout\n---\n');
  await expect
    .poll(diagnostics)
    .toEqual([
      expect.stringMatching(/scout\.md:1: description: /),
      expect.stringContaining('"scout" has errors, so its previous version stays'),
    ]);
  expect(await names()).toEqual(['clerk', 'scout']);
  await rm(join(folder, 'scout.md'));
  await expect.poll(names).toEqual(['clerk']);
});

test('agents and skills are published again to a Redis that has lost them', async () => {
  const data = await mkdtemp(join(tmpdir(), 'harness-lost-'));
  onTestFinished(() => rm(data, { recursive: true, force: true }));
  const { url, close } = await startEmbeddedRedis(data);
  onTestFinished(close);
  const redis = connectTestRedis(url);
  const folders = {
    agentsDirectory: await openAgents({ clerk: '' }),
    skillsDirectory: await openSkills(['tea']),
  };
  const { dispatch } = await openGateway({ redisUrl: url, ...folders });
  const known = async () => [
    await redis.hkeys(dispatch.keys.of('profiles', 'agents')),
    await redis.hkeys(dispatch.keys.of('profiles', 'skills')),
  ];
  expect(await known()).toEqual([['clerk'], ['tea']]);
  await redis.flushall();
  await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await expect.poll(known).toEqual([['clerk'], ['tea']]);
});

test('unknown tools, a taken name and invalid agent files are reported with file and line', async () => {
  const folder = await openAgents({ clerk: 'tools: Read, time__current_time' });
  await writeFile(join(folder, 'other.md'), '---\nname: clerk\ndescription: x\n---\nx');
  await writeFile(join(folder, 'plain.md'), 'hello');
  await writeFile(join(folder, 'README.md'), 'about these');
  const gateway = await openGateway({ agentsDirectory: folder });
  const { body } = await gateway.call('GET', '/v1/agents');
  expect(body.agents).toMatchObject([{ name: 'clerk', tools: ['Read', 'time__current_time'] }]);
  expect(body.diagnostics.map(({ message }: { message: string }) => message)).toEqual([
    expect.stringMatching(/clerk\.md:4: tools: "Read" is for workspaces, which are off/),
    expect.stringMatching(/other\.md:1: the name "clerk" is taken/),
    expect.stringMatching(/plain\.md:1: it must begin with YAML front matter/),
  ]);
});

test('a task may name an agent, over REST and with delegate; an unknown agent is refused', async () => {
  const folder = await openAgents({ clerk: 'tools: time__current_time\nmodel: sonnet' });
  const gateway = await openGateway({ agentsDirectory: folder });
  const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
  const { body: task } = await gateway.call('POST', '/v1/tasks', { body: { prompt: 'x', agent: 'clerk' } });
  expect(await worker.begin(task.threadId)).toMatchObject({
    model: 'sonnet',
    allowedTools: ['time__current_time'],
    agent: { name: 'clerk', instructions: 'You are clerk.' },
  });
  const delegate = (agent: string) =>
    gateway.call('POST', '/v1/tools/delegation__delegate', { body: { arguments: { prompt: 'x', agent } } });
  const { threadId } = (await delegate('clerk')).body.structuredContent;
  expect((await gateway.call('GET', `/v1/threads/${threadId}`)).body).toMatchObject({ agent: 'clerk' });
  expect((await delegate('nobody')).body).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('no agent "nobody"') }],
  });
  const refused = await gateway.call('POST', '/v1/tasks', { body: { prompt: 'x', agent: 'nobody' } });
  expect([refused.status, refused.body.error.code]).toEqual([404, 'agent_not_found']);
});

test('a skill with code, in any folder, adds tools, and reloads them after an edit', async () => {
  const folder = await openSkills();
  const code = (text: string) =>
    `import { defineTool } from '@harness/plugin-kit';
    import { z } from 'zod';
    export const tools = [defineTool({ name: 'say', description: 'Says it', input: z.object({}), handler: () => '${text}' })];`;
  await writeSkill(folder, 'tea');
  await writeFile(join(folder, 'tea', 'tools.ts'), code('one'));
  const gateway = await openGateway({ skillsDirectory: folder, skillsCode: true });
  const say = async () =>
    (await gateway.call('POST', '/v1/tools/skill__tea_say', { body: {} })).body.content?.[0].text;
  expect(await say()).toBe('one');
  await writeFile(join(folder, 'tea', 'tools.ts'), code('two'));
  await expect.poll(say).toBe('two');
  await writeFile(join(folder, 'tea', 'tools.ts'), 'export const tools = [{ name: 5 }];');
  const diagnostics = async () =>
    ((await gateway.call('GET', '/v1/skills')).body.diagnostics as { message: string }[]).map(
      ({ message }) => message,
    );
  await expect.poll(diagnostics).toContainEqual(expect.stringMatching(/tea\/tools\.ts:1: .*tools\[0\]/));
  expect(await say()).toBe('two');
});

test('a running call ends with the version that it started with', async () => {
  const folder = await openSkills();
  const code = (text: string) =>
    `export const tools = [{ name: 'say', description: '${text}', schema: {}, async handler() { globalThis.begun?.(); await globalThis.released; return '${text}'; } }];`;
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  Object.assign(globalThis, { begun: begun.resolve, released: released.promise });
  await writeSkill(folder, 'tea');
  await writeFile(join(folder, 'tea', 'tools.ts'), code('one'));
  const gateway = await openGateway({ skillsDirectory: folder, skillsCode: true });
  const say = async () =>
    (await gateway.call('POST', '/v1/tools/skill__tea_say', { body: {} })).body.content[0].text;
  const first = say();
  await begun.promise;
  await writeFile(join(folder, 'tea', 'tools.ts'), code('two'));
  const described = async () => (await gateway.call('GET', '/v1/tools/skill__tea_say')).body.description;
  await expect.poll(described).toBe('two');
  released.resolve();
  expect(await first).toBe('one');
  expect(await say()).toBe('two');
});

test('unless allowed, code of a skill is not run, and a diagnostic says how to allow it', async () => {
  const folder = await openSkills(['tea']);
  await writeFile(join(folder, 'tea', 'tools.ts'), 'throw new Error("it ran");');
  const gateway = await openGateway({ skillsDirectory: folder });
  const { body } = await gateway.call('GET', '/v1/skills');
  expect(body.skills).toMatchObject([{ name: 'tea' }]);
  expect(body.diagnostics).toMatchObject([
    { level: 'warning', message: expect.stringContaining('HARNESS_SKILLS_CODE=1') },
  ]);
});
