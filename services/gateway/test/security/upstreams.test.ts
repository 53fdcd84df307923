/** What an upstream's entry says stays with the operator. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLogger } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { loadGatewayConfig } from '../../src/config.ts';
import { followUpstreamsFile, loadUpstreams } from '../../src/upstreams/file/upstreams-file.ts';
import { bearer, keyFor, openGateway, probe } from '../fixture.ts';
import { fileOf, type Shown, untilReady } from '../published-servers.ts';

const main = fileURLToPath(new URL('../hostile-server.ts', import.meta.url));
const secret = 'the-token-of-the-operator';

async function writeUpstreams(mode: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'upstreams-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'mcp.json');
  await writeFile(file, '{"mcpServers": {"one": {"command": "true"}}}');
  await chmod(file, mode);
  return file;
}

test('a file that every user may write is refused, since it names commands', async () => {
  const load = async (mode: number) =>
    loadGatewayConfig({ REDIS_URL: 'redis://x', HARNESS_UPSTREAMS_FILE: await writeUpstreams(mode) });
  await expect(load(0o666)).rejects.toMatchObject({
    name: 'ConfigError',
    message: expect.stringContaining('may be written by every user of this machine'),
  });
  expect((await load(0o644)).upstreamsFile?.content.upstreams).toHaveLength(1);
});

test('a file that is refused while the gateway runs is a diagnostic, and what was read before stays', async () => {
  const path = await writeUpstreams(0o644);
  const logger = createLogger('test', 'silent');
  const file = followUpstreamsFile({ path, content: await loadUpstreams(path, {}), env: {} }, logger);
  onTestFinished(() => file.close());
  const gateway = await openGateway({ upstreams: file, plugins: [probe] });
  const problems = async () => {
    const { upstreams, diagnostics } = (await gateway.call('GET', '/v1/upstreams')).body;
    expect((upstreams as Shown[]).map(({ name }) => name)).toEqual(['one']);
    return (diagnostics as { message: string }[]).map(({ message }) => message).join();
  };
  await chmod(path, 0o666);
  await expect
    .poll(problems)
    .toMatch(/may be written by every user of this machine.*What was read before stays in effect/);
  await chmod(path, 0o644);
  await writeFile(path, '{"mcpServers": {');
  await expect.poll(problems).toContain('is not valid: ');
  await writeFile(path, '{"mcpServers": {"one": {"command": "true"}}}');
  await expect.poll(problems).toBe('');
});

test('arguments, environment and headers are in no response and in no log, also when the upstream repeats them', async () => {
  const lines: string[] = [];
  const logger = createLogger('test', 'debug', {
    destination: { write: (line: string) => void lines.push(line) },
  });
  const upstreams = fileOf({
    talks: {
      command: process.execPath,
      args: [main, 'leaks', `--key=${secret}`],
      env: { API_TOKEN: secret },
    },
    dies: { command: 'sh', args: ['-c', 'echo "bad key $API_KEY" >&2; exit 1'], env: { API_KEY: secret } },
    away: { url: `http://127.0.0.1:9/mcp?key=${secret}`, headers: { Authorization: `Bearer ${secret}` } },
  });
  const gateway = await openGateway({ upstreams, plugins: [probe], logger });
  await untilReady(gateway, ['talks']);
  const list = async () => (await gateway.call('GET', '/v1/upstreams')).body.upstreams as Shown[];
  await expect
    .poll(async () => (await list()).find(({ name }) => name === 'dies')?.lastError)
    .toContain('bad key');
  await expect.poll(async () => (await list()).find(({ name }) => name === 'away')?.lastError).not.toBeNull();
  const failed = await gateway.call('POST', '/v1/tools/talks__leak', { body: {} });
  expect(failed.body).toMatchObject({ isError: true, content: [{ text: 'refused: [secret]' }] });
  expect(JSON.stringify([await list(), failed.body])).not.toContain(secret);
  expect(lines.join('')).not.toContain(secret);
});

test('an upstream of one tenant does not exist for another', async () => {
  const keys = [keyFor('key-of-acme', { tenant: 'acme' }), keyFor('key-of-other', { tenant: 'other' })];
  const upstreams = fileOf({ private: { command: process.execPath, args: [main], tenants: ['acme'] } });
  const gateway = await openGateway({ upstreams, plugins: [probe], keys });
  const ask = async (key: string, method: string, path: string) =>
    gateway.call(method, path, { headers: bearer(key), ...(method === 'POST' && { body: {} }) });
  await expect
    .poll(async () => (await ask('key-of-acme', 'POST', '/v1/tools/private__say')).status)
    .toBe(200);
  expect((await ask('key-of-other', 'POST', '/v1/tools/private__say')).status).toBe(404);
  for (const path of ['/v1/tools', '/v1/plugins'])
    expect([path, JSON.stringify((await ask('key-of-other', 'GET', path)).body).includes('private')]).toEqual(
      [path, false],
    );
});
