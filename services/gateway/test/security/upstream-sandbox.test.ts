/** What a child process tries against its sandbox. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { descendantsOf } from '@harness/sandbox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { describeUpstreams } from '../../src/upstreams/describe-upstreams.ts';
import { parseUpstreams } from '../../src/upstreams/file/upstreams-file.ts';
import { type Gateway, openGateway, probe } from '../fixture.ts';
import { fileOf, serverOf, untilReady } from '../published-servers.ts';

const hasSandbox = process.platform === 'linux' && existsSync('/usr/bin/bwrap');
const main = fileURLToPath(new URL('../hostile-server.ts', import.meta.url));
const modules = dirname(
  dirname(dirname(dirname(serverOf('filesystem').args[0] ?? ''))), // node_modules/@modelcontextprotocol/server-x/dist
);

/** A folder that a child in a sandbox may write to. */
async function folderWith(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'upstream-sandbox-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o777);
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

const callOf = (gateway: Gateway) => async (tool: string, body: object) => {
  const called = await gateway.call('POST', `/v1/tools/${tool}`, { body: { arguments: body } });
  return { text: String(called.body.content?.[0]?.text), isError: called.body.isError };
};

describe.runIf(hasSandbox)('a child process in a sandbox', () => {
  test('reads no environment of others, no other file, and reaches no network', async () => {
    process.env.GATEWAYS_SECRET = 'the-secret-of-the-gateway';
    onTestFinished(() => void delete process.env.GATEWAYS_SECRET);
    const others = await folderWith({ 'private.txt': 'of others' });
    const site = createServer((_request, response) => response.end('reached')).listen(0, '127.0.0.1');
    onTestFinished(() => void site.close().closeAllConnections());
    const upstreams = fileOf({
      enclosed: {
        command: process.execPath,
        args: [main, 'runs'],
        env: { OWN_KEY: 'its own key' },
        sandbox: { read: [dirname(main)] },
      },
    });
    const gateway = await openGateway({ upstreams, plugins: [probe] });
    const [shown] = await untilReady(gateway, ['enclosed']);
    expect(shown).toMatchObject({ sandbox: expect.stringMatching(/^bubblewrap/), lastError: null });
    const call = callOf(gateway);
    const run = async (command: string) => (await call('enclosed__run', { command })).text;
    expect(await run('echo $OWN_KEY; pwd; echo $HOME; touch x ~/x /tmp/x && ls')).toBe(
      'its own key\n/workspace\n/home/agent\nx',
    );
    const environments = 'env; cat /proc/*/environ 2>/dev/null | tr "\\0" "\\n"';
    expect(await run(environments)).not.toMatch(/GATEWAYS_SECRET|REDIS|HARNESS/);
    const elsewhere = `${others}/private.txt /root/.bashrc /etc/shadow /var/log`;
    expect(await run(`cat ${elsewhere} 2>&1 | grep -c "No such file"`)).toBe('4');
    expect(await run(`find / -name private.txt -not -path "/proc/*" 2>/dev/null`)).toBe('');
    expect(await run(`touch /x /usr/x /etc/x ${main}`)).toMatch(/((Read-only|denied).*){4}/s);
    const { port } = site.address() as AddressInfo;
    expect(await run(`bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port}'`)).toMatch(/refused/);
    expect(await run("bash -c 'exec 3<>/dev/tcp/192.0.2.1/80'")).toMatch(/unreachable/);
    expect(await run('grep CapEff /proc/self/status; ls -d /proc/[0-9]* | wc -l')).toMatch(
      /0000000000000000\n\d$/,
    );
  });

  test('has the network only where its entry says so', async () => {
    const site = createServer((_request, response) => response.end('reached')).listen(0, '127.0.0.1');
    onTestFinished(() => void site.close().closeAllConnections());
    const sandbox = { network: true, read: [main] };
    const upstreams = fileOf({ online: { command: process.execPath, args: [main, 'runs'], sandbox } });
    const gateway = await openGateway({ upstreams, plugins: [probe] });
    await untilReady(gateway, ['online']);
    await expect.poll(() => site.listening).toBe(true);
    const { port } = site.address() as AddressInfo;
    const script = `exec 3<>/dev/tcp/127.0.0.1/${port}; printf "GET / HTTP/1.0\\r\\n\\r\\n" >&3; cat <&3`;
    const { text } = await callOf(gateway)('online__run', { command: `bash -c '${script}'` });
    expect(text).toContain('reached');
  });

  test('server-filesystem works on its own folder, and server-everything without one', async () => {
    const cwd = await folderWith({ 'note.txt': 'the note' });
    const sandbox = { read: [modules] };
    const upstreams = fileOf({
      files: { ...serverOf('filesystem', cwd), cwd, sandbox },
      everything: { ...serverOf('everything'), sandbox },
    });
    const gateway = await openGateway({ upstreams });
    await untilReady(gateway, ['everything', 'files']);
    const call = callOf(gateway);
    expect((await call('files__read_text_file', { path: join(cwd, 'note.txt') })).text).toBe('the note');
    await call('files__write_file', { path: join(cwd, 'made.txt'), content: 'made' });
    expect(await readFile(join(cwd, 'made.txt'), 'utf8')).toBe('made');
    expect((await call('everything__echo', { message: 'hello' })).text).toContain('hello');
  });

  test('ends with the gateway, also when that is killed', async () => {
    const transport = new URL('../../src/upstreams/connection/stdio-transport.ts', import.meta.url).href;
    const sandboxes = new URL('../../src/upstreams/sandbox/upstream-sandboxes.ts', import.meta.url).href;
    const script = `
      import { createStdioTransport } from ${JSON.stringify(transport)};
      import { createUpstreamSandboxes } from ${JSON.stringify(sandboxes)};
      const upstream = { command: 'sh', args: ['-c', 'setsid sleep 1000 & echo "[]"; wait'], env: {}, sandbox: { network: false, read: [] } };
      const { env } = process;
      const transport = createStdioTransport(upstream, { env, sandboxes: createUpstreamSandboxes(env) });
      transport.onmessage = () => console.log('ready');
      await transport.start();
    `;
    const gateway = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void gateway.kill('SIGKILL'));
    await once(createInterface({ input: gateway.stdout }), 'line');
    const nameOf = (pid: number) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
    await expect
      .poll(() => descendantsOf(gateway.pid ?? 0).map(nameOf))
      .toEqual(expect.arrayContaining(['bwrap', 'sleep']));
    const pids = descendantsOf(gateway.pid ?? 0);
    gateway.kill('SIGKILL');
    await expect.poll(() => pids.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
  });

  test('keeps the name of its command, by which some programs find their files', async () => {
    const folder = await folderWith({});
    const named = join(folder, 'own-node');
    await symlink(process.execPath, named);
    const sandbox = { read: [dirname(main), folder] };
    const script = { args: [main, 'runs'], sandbox };
    const upstreams = fileOf({ named: { command: named, ...script }, found: { command: 'node', ...script } });
    const gateway = await openGateway({ upstreams, plugins: [probe] });
    await untilReady(gateway, ['found', 'named']);
    const command = "tr '\\0' '\\n' < /proc/$PPID/cmdline | head -1";
    expect((await callOf(gateway)('named__run', { command })).text).toBe(named);
    expect((await callOf(gateway)('found__run', { command })).text).toMatch(/node$/);
  });

  test('is enclosed for the tool lock, too; what it cannot read, keeps it away with the reason', async () => {
    const missing = { command: process.execPath, args: [main], sandbox: true };
    const away = { command: 'true', cwd: '/no/such/folder', sandbox: true };
    const file = fileOf({ missing, away, 'no-command': { command: 'no-such-command', sandbox: true } });
    const { failures } = await describeUpstreams(file.upstreams, { env: process.env, unprefixed: [] });
    const reasons = Object.fromEntries(failures.map(({ name, message }) => [name, message]));
    expect(reasons).toEqual({
      missing: expect.stringContaining(`Cannot find module '${main}'`),
      away: expect.stringContaining('there is no /no/such/folder'),
      'no-command': expect.stringContaining('the command no-such-command is not found'),
    });
  });
});

test('where this machine has no sandbox, the upstream is not started, and a diagnostic says why', async () => {
  const folder = await folderWith({ started: '' });
  await rm(join(folder, 'started'));
  const command = `touch ${join(folder, 'started')}`;
  const upstreams = fileOf({ enclosed: { command: 'sh', args: ['-c', command], sandbox: true } });
  const gateway = await openGateway({
    upstreams,
    plugins: [probe],
    upstreamEnv: { PATH: folder },
  });
  const list = async () => (await gateway.call('GET', '/v1/upstreams')).body;
  await expect.poll(async () => (await list()).upstreams[0].lastError).toMatch(/has none: .+/);
  expect(await list()).toMatchObject({
    upstreams: [{ sandbox: 'none', tools: [] }],
    diagnostics: [
      { level: 'error', message: expect.stringMatching(/^enclosed: is not started.*has none: .+/) },
    ],
  });
  expect(existsSync(join(folder, 'started'))).toBe(false);
});

test.each([
  [{ read: ['relative/path'] }, /absolute path/],
  [{ read: ['/'] }, /absolute path/],
  [{ network: 'yes' }, /network/],
  [{ write: ['/x'] }, /write/],
  ['yes', /sandbox/],
])('the sandbox %j is a diagnostic, and keeps the entry away', (sandbox, reason) => {
  const file = parseUpstreams(JSON.stringify({ mcpServers: { bad: { command: 'true', sandbox } } }), {});
  expect(file.upstreams).toEqual([]);
  expect(file.diagnostics).toMatchObject([{ level: 'error', message: expect.stringMatching(reason) }]);
});
