import { randomUUID } from 'node:crypto';
import { cpSync } from 'node:fs';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, onTestFinished, test } from 'vitest';
import { type Gateway, openGateway } from '../fixture.ts';
import { modernCaller } from '../mcp-wire.ts';
import { openSkills, writeSkill } from '../skill-folder.ts';

const skillTools = async (gateway: Gateway) =>
  ((await gateway.call('GET', '/v1/tools')).body.tools as { name: string }[])
    .map(({ name }) => name)
    .filter((name) => name.startsWith('skill__'));

test('adding, editing, renaming and removing a skill takes effect at every gateway', async () => {
  const folder = await openSkills(['tea']);
  const tag = randomUUID();
  const gateways = [
    await openGateway({ tag, skillsDirectory: folder }),
    await openGateway({ tag, skillsDirectory: folder }),
  ];
  const all = async (names: string[]) => {
    for (const gateway of gateways)
      await expect
        .poll(() => skillTools(gateway))
        .toEqual(names.length ? [...names, 'skill__read_file'] : []);
  };
  await all(['skill__tea']);
  await writeSkill(folder, 'coffee');
  await all(['skill__coffee', 'skill__tea']);
  await writeSkill(folder, 'tea', { body: 'Steep $ARGUMENTS.' });
  const [gateway] = gateways as [Gateway, Gateway];
  const steep = async () =>
    (await gateway.call('POST', '/v1/tools/skill__tea', { body: { arguments: { arguments: 'oolong' } } }))
      .body.content[0].text;
  await expect.poll(steep).toBe('Steep oolong.');
  await rename(join(folder, 'coffee'), join(folder, 'espresso'));
  await writeSkill(folder, 'espresso');
  await all(['skill__espresso', 'skill__tea']);
  for (const name of ['tea', 'espresso']) await rm(join(folder, name), { recursive: true });
  await all([]);
});

test('a skill for users only is a command and not a tool', async () => {
  const folder = await openSkills(['tea']);
  await writeSkill(folder, 'deploy', { front: 'disable-model-invocation: true\nuser-invocable: true\n' });
  const gateway = await openGateway({ skillsDirectory: folder });
  expect(await skillTools(gateway)).toEqual(['skill__tea', 'skill__read_file']);
  const { skills } = (await gateway.call('GET', '/v1/skills')).body;
  expect(skills).toMatchObject([
    { name: 'deploy', modelInvocable: false },
    { name: 'tea', modelInvocable: true, tool: 'skill__tea' },
  ]);
  expect(skills[0]).not.toHaveProperty('tool');
  const { commands } = (await gateway.call('GET', '/v1/commands')).body;
  expect(commands).toContainEqual(expect.objectContaining({ name: 'deploy', group: 'skill' }));
});

test('a broken edit keeps the last good version and is reported', async () => {
  const folder = await openSkills(['tea']);
  const gateway = await openGateway({ skillsDirectory: folder });
  await writeFile(join(folder, 'tea', 'SKILL.md'), '---\nname: [tea\n---\n');
  const diagnostics = async () =>
    ((await gateway.call('GET', '/v1/skills')).body.diagnostics as { message: string }[]).map(
      ({ message }) => message,
    );
  await expect
    .poll(diagnostics)
    .toEqual([
      expect.stringContaining('bad YAML'),
      expect.stringContaining('"tea" has errors, so its previous version stays'),
    ]);
  expect((await gateway.call('POST', '/v1/tools/skill__tea', { body: {} })).body.content[0].text).toBe(
    'Do it.',
  );
  await writeSkill(folder, 'tea', { body: 'Mended.' });
  await expect.poll(diagnostics).toEqual([]);
  expect((await gateway.call('POST', '/v1/tools/skill__tea', { body: {} })).body.content[0].text).toBe(
    'Mended.',
  );
});

const skillsIn = ({ tools }: { tools: { name: string }[] }) =>
  tools.filter(({ name }) => name.startsWith('skill__')).length;

/** Counts a client's notifications of changed tools. */
const followers = {
  async '2025'(gateway: Gateway, counts: number[]) {
    const client = new Client({ name: 'test', version: '1' });
    client.setNotificationHandler(ToolListChangedNotificationSchema, async () => {
      counts.push(skillsIn(await client.listTools()));
    });
    const listening = new Promise<void>((resolve) => {
      gateway.dispatch.replicas.onSignal(({ kind }) => kind === 'stream_opened' && resolve());
    });
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', gateway.url)) as Transport);
    onTestFinished(() => client.close());
    await listening;
  },
  async '2026'(gateway: Gateway, counts: number[]) {
    const onChanged = async () => void counts.push(skillsIn(await client.listTools()));
    const client = new ModernClient(
      { name: 'test', version: '1' },
      {
        versionNegotiation: { mode: { pin: '2026-07-28' } },
        listChanged: { tools: { onChanged, autoRefresh: false } },
      },
    );
    await client.connect(new ModernTransport(new URL('/mcp', gateway.url)));
    onTestFinished(() => client.close());
  },
};

test.each(['2025', '2026'] as const)(
  'two hundred skills added together are one notification, in the %s era',
  async (era) => {
    const folder = await openSkills();
    const gateway = await openGateway({ skillsDirectory: folder });
    const counts: number[] = [];
    await followers[era](gateway, counts);
    const checkout = await openSkills(Array.from({ length: 200 }, (_, n) => `skill-${n}`));
    cpSync(checkout, folder, { recursive: true }); // synchronous: the gateway, in this process, sees all of them together
    await expect.poll(() => counts).toEqual([201]);
  },
);

test('its files, and no others, are read through one tool and as resources', async () => {
  const folder = await openSkills(['tea']);
  await writeFile(join(folder, 'secret.txt'), 'secret');
  await mkdir(join(folder, 'tea/ref'));
  await writeFile(join(folder, 'tea/ref/steps.md'), '1. Boil.');
  const gateway = await openGateway({ skillsDirectory: folder });
  const read = async (skill: string, path: string) =>
    (await gateway.call('POST', '/v1/tools/skill__read_file', { body: { arguments: { skill, path } } })).body;
  expect(await read('tea', 'ref/steps.md')).toMatchObject({
    isError: false,
    content: [{ text: '1. Boil.' }],
  });
  // As instructions name it: with the folder of the skill before it, or in other case if only one file fits.
  for (const path of ['/skills/tea/ref/steps.md', 'REF/Steps.md'])
    expect((await read('tea', path)).content, path).toMatchObject([{ text: '1. Boil.' }]);
  await writeFile(join(folder, 'tea/ref/STEPS.md'), '2. Wait.');
  await expect
    .poll(async () => (await read('tea', 'Ref/STEPS.md')).content[0].text)
    .toBe('tea: there is no file Ref/STEPS.md.');
  await symlink(join(folder, 'secret.txt'), join(folder, 'tea/link.txt'));
  await symlink(join(folder, 'nothing.txt'), join(folder, 'tea/dangling.txt'));
  // The same answer whether a file exists outside or not.
  for (const path of [
    '../secret.txt',
    '../nothing.txt',
    '../../../etc/passwd',
    'link.txt',
    'dangling.txt',
    'none',
  ]) {
    const { isError, content } = await read('tea', path);
    expect([isError, content[0].text]).toEqual([true, `tea: there is no file ${path}.`]);
  }
  expect(await read('coffee', 'SKILL.md')).toMatchObject({ isError: true });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', gateway.url)) as Transport);
  onTestFinished(() => client.close());
  expect((await client.readResource({ uri: 'skill://tea/ref/steps.md' })).contents).toMatchObject([
    { text: '1. Boil.' },
  ]);
  await expect(client.readResource({ uri: 'skill://tea/../secret.txt' })).rejects.toThrow(/no resource/);
});

test('while the skills plugin is disabled, the skills extension has none either', async () => {
  const gateway = await openGateway({ skillsDirectory: await openSkills(['tea']) });
  const listed = async () => {
    const { result } = await (await modernCaller().request(gateway.url, 'skills/list')).message();
    return result.skills.map(({ uri }: { uri: string }) => uri);
  };
  expect(await listed()).toEqual(['skill://tea/SKILL.md']);
  await gateway.call('PATCH', '/v1/plugins/skill', { body: { enabled: false } });
  await expect.poll(listed).toEqual([]);
});
