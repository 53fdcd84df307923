import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtInPluginsWith } from '@harness/plugins';
import { afterAll, expect, it } from 'vitest';
import { loadGatewayConfig, loadLockConfig } from '../config.ts';
import { readToolLock, writeToolLock } from './tool-lock-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'tool-lock-'));
afterAll(() => rmSync(folder, { recursive: true }));
const path = (name: string) => join(folder, name);
const env = { REDIS_URL: 'redis://x' };
const unread = async (): Promise<never> => {
  throw new Error('not read');
};
const builtIn = builtInPluginsWith({ list: unread, read: unread });
const counts = (more: number) => {
  const count = (part: 'tools' | 'prompts' | 'resources' | 'resourceTemplates' | 'commands') =>
    builtIn.reduce((sum, plugin) => sum + (plugin[part]?.length ?? 0), 0);
  const resources = count('resources') + count('resourceTemplates');
  return `${count('tools') + more} tools, ${count('prompts')} prompts, ${resources} resources, 0 instructions and ${count('commands')} commands are accepted`;
};

/** A new file each time: Node imports a file only once. */
let modules = 0;
function pluginSaying(description: string): string {
  const file = path(`plugin-${modules++}.mjs`);
  const tools = `[{ name: 'tell', description: ${JSON.stringify(description)}, schema: {}, handler() {} }]`;
  writeFileSync(file, `export const plugin = { name: 'own', version: '2', register() {}, tools: ${tools} };`);
  return file;
}

it('writes the tools of the configured plugins, and reports what changed', async () => {
  const file = path('lock.json');
  expect(await writeToolLock(file, [pluginSaying('One.')])).toContain(`${counts(1)}:\n`);
  const first = await readToolLock(file);
  expect(Object.keys(first.tools)).toContain('delegation__delegate');
  expect(first.tools.own__tell).toMatchObject({ version: '2' });

  const output = await writeToolLock(file, [pluginSaying('Two.')]);
  expect(output).toBe(`${counts(1)}:\n  changed  own__tell`);
  expect((await readToolLock(file)).tools.own__tell).not.toEqual(first.tools.own__tell);
  expect(await writeToolLock(file, [pluginSaying('Two.')])).toContain('nothing changed');
  expect(await writeToolLock(file, [])).toBe(`${counts(0)}:\n  gone     own__tell`);
});

it('keeps the lock when a plugin does not load', async () => {
  const file = path('kept.json');
  await writeToolLock(file, []);
  const before = readFileSync(file, 'utf8');
  await expect(writeToolLock(file, [path('missing.mjs')])).rejects.toMatchObject({
    name: 'ConfigError',
    message: expect.stringContaining('missing.mjs'),
  });
  expect(readFileSync(file, 'utf8')).toBe(before);
});

it('the gateway reports with a file, enforces if configured, and does nothing without a file', async () => {
  const HARNESS_TOOL_LOCK_FILE = path('configured.json');
  await writeToolLock(HARNESS_TOOL_LOCK_FILE, []);
  const lockOf = async (more: object) => (await loadGatewayConfig({ ...env, ...more })).toolLock;
  expect(await lockOf({})).toBeUndefined();
  expect(await lockOf({ HARNESS_TOOL_LOCK_FILE })).toMatchObject({
    enforce: false,
    lock: { tools: expect.any(Object) },
  });
  expect(await lockOf({ HARNESS_TOOL_LOCK_FILE, HARNESS_TOOL_LOCK: 'enforce' })).toMatchObject({
    enforce: true,
  });
  expect(await lockOf({ HARNESS_TOOL_LOCK_FILE, HARNESS_TOOL_LOCK: 'off' })).toBeUndefined();
});

it('names the problem of the configuration', async () => {
  const broken = path('broken.json');
  writeFileSync(broken, '{"tools": {"a": {}}}');
  const load = (more: object) => loadGatewayConfig({ ...env, ...more });
  await expect(load({ HARNESS_TOOL_LOCK: 'enforce' })).rejects.toThrow('needs HARNESS_TOOL_LOCK_FILE');
  await expect(load({ HARNESS_TOOL_LOCK: 'yes' })).rejects.toThrow('HARNESS_TOOL_LOCK');
  await expect(load({ HARNESS_TOOL_LOCK_FILE: path('none.json') })).rejects.toThrow('npm run tools:lock');
  await expect(load({ HARNESS_TOOL_LOCK_FILE: broken })).rejects.toThrow('tools.a.sha256');
  expect(() => loadLockConfig({})).toThrow('HARNESS_TOOL_LOCK_FILE');
  expect(loadLockConfig({ HARNESS_TOOL_LOCK_FILE: 'x', HARNESS_PLUGINS: 'a, b' })).toMatchObject({
    file: 'x',
    modulePaths: ['a', 'b'],
    leftOut: [],
  });
});
