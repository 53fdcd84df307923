/** Runs the code of the documents as it stands there. */
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { loadPlugins, validatePluginExport } from '@harness/plugin-kit';
import { startEmbeddedRedis } from '@harness/runtime';
import { openFileStore } from '@harness/workspaces';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect, onTestFinished, test } from 'vitest';
import { LimitsFile } from '../../../gateway/src/limits/tenant-limits.ts';
import { parseUpstreams } from '../../../gateway/src/upstreams/file/upstreams-file.ts';
import { blockWith, root, textOf } from '../documents.ts';
import { openFleet, shareFleet, type TestFleet } from '../open-fleet.ts';

const run = promisify(execFile);
const sharedFleet = shareFleet();

async function tempDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'harness-documents-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** Runs commands as they stand in a document, at this fleet; returns what they print. */
async function shell(script: string, fleet: TestFleet, env: Record<string, string> = {}): Promise<string> {
  const here = script
    .replaceAll('http://127.0.0.1:8080', fleet.url)
    .replaceAll('npm run -s chat --', 'node services/client/src/chat/main.ts')
    .replaceAll('npm run -s chat ', 'node services/client/src/chat/main.ts ')
    .replaceAll('npm run keys --', 'node services/gateway/src/keys/main.ts')
    .replaceAll(/ \| jq \.|; curl -sN \$bus\/events\?follow=true/g, '');
  const inherited = { PATH: process.env.PATH, HARNESS_URL: fleet.url };
  return (await run('bash', ['-e', '-c', here], { cwd: root, env: { ...inherited, ...env } })).stdout;
}

test('the commands of the README, of the bus and of the terminal run', { timeout: 120_000 }, async () => {
  const fleet = await sharedFleet();
  expect(await shell(blockWith('"threadId":"hello"'), fleet)).toContain('"status":"success"');
  const bus = await shell(blockWith('bus=http://'), fleet);
  expect(bus).toContain('"state":"done"');
  expect(await shell(blockWith('What time is it?'), fleet)).toContain('You said: What time is it?');
  const onThread = (text: string) => shell(blockWith(text).replaceAll('user-42', 'hello'), fleet);
  expect(await onThread('order-17')).toContain('runId');
  expect(await onThread('/api/prewarm')).toContain('hello');
});

test('npm start and npm run demo are scripts; the demo ends well', { timeout: 120_000 }, async () => {
  const commands = [...blockWith('npm run demo').matchAll(/^npm (?:run )?(\w+)/gm)].map(([, name]) => name);
  expect(commands).toEqual(['start', 'demo']); // `npm start` runs in start.test.ts
  const { scripts } = JSON.parse(textOf('package.json'));
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(commands));
  const demo = join(root, 'services/local/src/demo.ts');
  const { stdout } = await run(process.execPath, [demo], { env: { PATH: process.env.PATH } });
  expect(stdout).toContain('Every step was seen.');
});

test('the rooms import what the README draws', () => {
  const drawn = new Map<string, string[]>();
  for (const line of blockWith('runtime, dispatch, plugin-kit, workspaces, console').trim().split('\n')) {
    const [importers = '', imported = ''] = line.replace(' (types only)', '').split(' -> ');
    for (const room of importers.trim().split(', ')) drawn.set(room, imported.split(', ').sort());
  }
  const real = new Map<string, string[]>();
  for (const file of globSync('{libs,services}/*/package.json', { cwd: root })) {
    const { dependencies = {} } = JSON.parse(textOf(file));
    const rooms = Object.keys(dependencies).flatMap((name) => /^@harness\/(.*)/.exec(name)?.[1] ?? []);
    if (rooms.length > 0) real.set(file.split('/')[1] as string, rooms.sort());
  }
  expect(drawn).toEqual(real);
});

test('the example of a test passes: a message is answered', async () => {
  const code = blockWith('a message is answered').replace(/^import .*$/gm, '');
  const tests: (() => Promise<void>)[] = [];
  const define = new Function('test', 'expect', 'openFleet', code);
  define((_name: string, body: () => Promise<void>) => tests.push(body), expect, openFleet);
  expect(tests).toHaveLength(1);
  await tests[0]?.();
});

test('the configuration of the bridge ("--bare") starts it', { timeout: 60_000 }, async () => {
  const fleet = await sharedFleet();
  const { command, args, env } = JSON.parse(blockWith('"--bare"')).mcpServers.bus;
  const transport = new StdioClientTransport({
    command,
    args: args.map((arg: string) => arg.replace('/path/to/harness', root)),
    env: { ...env, HARNESS_URL: fleet.url, PATH: process.env.PATH },
  });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  onTestFinished(() => client.close());
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('submit_task');
});

test('the page that the console is given (KeysPage) compiles', { timeout: 60_000 }, async () => {
  const folder = join(root, 'node_modules/.cache/console-example');
  const source = '../../../services/console/src';
  await mkdir(folder, { recursive: true });
  const prelude = `import { useQuery } from '@tanstack/react-query';
    import type { ReactNode } from 'react';
    import { get } from '${source}/lib/api.ts';
    import { type Column, DataTable } from '${source}/parts/data-table.tsx';
    import { Failure } from '${source}/parts/failure.tsx';
    import { PageHead } from '${source}/parts/page-head.tsx';
    interface Key { id: string }
    declare const columns: Column<Key>[];`;
  await writeFile(join(folder, 'keys-page.tsx'), `${prelude}\n${blockWith('KeysPage')}`);
  const options = { incremental: false, rootDir: '../../..' };
  const config = {
    extends: '../../../services/console/tsconfig.json',
    compilerOptions: options,
    include: ['keys-page.tsx', '../../../services/console/src/vite-env.d.ts'],
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  expect(await run(process.execPath, [tsc, '-p', folder]).catch(({ stdout }) => ({ stdout }))).toMatchObject({
    stdout: '',
  });
});

test('keys are made as described: npm run keys -- create, and POST $URL/v1/keys', async () => {
  const key = 'the-key-of-an-admin';
  const fleet = await openFleet({ env: { HARNESS_API_KEY: key } });
  const file = join(await tempDir(), 'keys.json');
  const env = { HARNESS_API_KEYS_FILE: file };
  await shell('npm run keys -- create --id ci-2026', fleet, env);
  const printed = await shell(blockWith('npm run keys -- create'), fleet, env);
  expect(printed).toContain('ci-2027');
  expect(JSON.parse(readFileSync(file, 'utf8')).map(({ id }: { id: string }) => id)).toEqual(['ci-2027']);
  const made = await shell(blockWith('$URL/v1/keys'), fleet, { URL: fleet.url, ADMIN_KEY: key });
  expect(JSON.parse(made)).toMatchObject({ id: 'ci-2027', key: expect.any(String) });
});

test('the limits file (requestsPerSecond) and the upstreams files (api.githubcopilot.com, /opt/servers/node_modules) are read', () => {
  expect(LimitsFile.parse(JSON.parse(blockWith('requestsPerSecond')))).toMatchObject({
    tenants: { acme: {} },
  });
  const read = (text: string) => parseUpstreams(blockWith(text), { GITHUB_TOKEN: 'secret' });
  for (const [text, names] of [
    ['api.githubcopilot.com', ['files', 'github', 'browser']],
    ['/opt/servers/node_modules', ['files']],
  ] as const) {
    const { upstreams, diagnostics } = read(text);
    expect(diagnostics).toEqual([]);
    expect(upstreams.map(({ name }) => name)).toEqual(names);
  }
});

test('a browser opens a stream with a ticket: new EventSource', async () => {
  const fleet = await sharedFleet();
  const threadId = await fleet.thread();
  const code = `const [gateway, threadId] = process.argv.slice(1);
    const lastId = '0';
    const post = async (path, body) => {
      const headers = { 'content-type': 'application/json' };
      return (await fetch(gateway + path, { method: 'POST', headers, body: JSON.stringify(body) })).json();
    };
    ${blockWith('new EventSource')}
    stream.addEventListener('stream.replayed', ({ data }) => {
      console.log(JSON.parse(data).threadId);
      stream.close();
    });`;
  const flags = ['--experimental-eventsource', '--no-warnings', '--input-type=module', '--eval', code];
  const { stdout } = await run(process.execPath, [...flags, fleet.url, threadId]);
  expect(stdout.trim()).toBe(threadId);
});

test('the commands of a backup run: redis-cli CONFIG', { timeout: 60_000 }, async () => {
  const dir = await tempDir();
  const redis = await startEmbeddedRedis(dir);
  onTestFinished(() => redis.close());
  const script = blockWith('redis-cli CONFIG')
    .replaceAll('redis-cli ', `redis-cli -s ${new URL(redis.url).pathname} `)
    .replace('/backups/', `${dir}/backup-`);
  const { stdout } = await run('bash', ['-e', '-c', `${script}\nls ${dir}/backup-*`], { cwd: dir });
  expect(stdout).toContain('appendonly.aof.manifest');
});

test('the plugin of the guide (weather__forecast) loads unchanged', async () => {
  const file = join(root, 'node_modules/.cache/guide-plugin.ts');
  await writeFile(file, blockWith('weather__forecast'));
  onTestFinished(() => writeFile(file, ''));
  const { loaded, diagnostics } = await loadPlugins({ builtIn: [], modulePaths: [file] });
  expect(diagnostics).toEqual([]);
  expect(loaded.map(({ name, tools = [] }) => [name, tools.length])).toEqual([['weather', 1]]);
});

test('the tool and command that replace a keyword are those of a plugin', () => {
  const code = blockWith("argumentHint: '<city>'");
  const lists = new Function('forecast', `return {${code}}`)(() => 'sunny');
  const plugin = { name: 'weather', version: '1', register: () => undefined, ...lists };
  expect(validatePluginExport({ plugin }, 'the document')).toMatchObject({ valid: true });
});

test('the skill (name: release-notes) loads without a problem', async () => {
  const folder = await tempDir();
  await mkdir(join(folder, 'release-notes'));
  await writeFile(join(folder, 'release-notes/SKILL.md'), blockWith('name: release-notes'));
  const main = join(root, 'services/gateway/src/content/check-content.ts');
  const { stdout } = await run(process.execPath, [main, 'check', folder, '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ skills: [{ name: 'release-notes' }], diagnostics: [] });
});

test('versions of files, as openFileStore makes them', async () => {
  const dir = await tempDir();
  const [folder, emptyFolder] = [join(dir, 'work'), join(dir, 'empty')];
  await mkdir(folder);
  await mkdir(emptyFolder);
  await writeFile(join(folder, 'b.txt'), 'b');
  const limits = { bytes: 1_000_000, files: 100 };
  const store = openFileStore({ dir: join(dir, 'store') });
  const ofMessage = await store
    .of('acme')
    .edit(undefined, [{ path: 'c.txt', put: Buffer.from('c') }], limits);
  const given = {
    openFileStore: () => store,
    dir,
    tenant: 'acme',
    folder,
    emptyFolder,
    limits,
    previous: undefined,
    owner: undefined,
    bytes: Buffer.from('a'),
    filesOfAMessage: ofMessage.version,
  };
  const body = `return (async () => { ${blockWith('openFileStore')}; return files.manifest(merged.version); })()`;
  const manifest = await new Function(...Object.keys(given), body)(...Object.values(given));
  expect([...manifest.entries.keys()]).toEqual(['a.txt', 'b.txt', 'c.txt']);
  expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('a');
});
