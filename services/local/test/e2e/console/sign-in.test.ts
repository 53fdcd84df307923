/** Signing in: with a key, for what it may do, until it ends. */

import { createHash } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkAccessibility, closeBrowserAfterAll, openPage } from '../../console/open-console.ts';
import { openFleet } from '../../open-fleet.ts';

closeBrowserAfterAll();

const entry = (id: string, scopes: string[]) => ({
  id,
  keySha256: createHash('sha256').update(`key-of-${id}`).digest('hex'),
  tenant: 'default',
  scopes,
});

test('a person signs in with a key, sees what it allows, and is out when it is revoked', async () => {
  const file = join(await mkdtemp(join(tmpdir(), 'harness-keys-')), 'keys.json');
  const [boss, writer, watcher] = [
    entry('boss', ['threads', 'tools', 'tasks', 'bus', 'admin', 'fleet', 'metrics']),
    entry('writer', ['threads']),
    entry('watcher', ['metrics']),
  ];
  await writeFile(file, JSON.stringify([boss, writer, watcher]));
  const { url } = await openFleet({ workers: 0, env: { HARNESS_API_KEYS_FILE: file } });
  const { page, problems } = await openPage(url, '/threads', { expected: /401|Failed to load/ });
  const signIn = async (key: string) => {
    await page.getByLabel('API key or access token').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await checkAccessibility(page);
  await signIn('a-wrong-key');
  await page.getByText('The API key is not known').waitFor();

  await signIn('key-of-writer');
  await page.getByRole('heading', { name: 'Threads' }).waitFor();
  const links = () => page.getByRole('navigation').getByRole('link').allInnerTexts();
  expect((await links()).map((text) => text.split('\n')[0])).toEqual(['Overview', 'Threads']);
  const [cookie] = await page.context().cookies(`${url}/v1/threads`);
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/v1' });
  expect(await page.evaluate('document.cookie + JSON.stringify(localStorage)')).not.toContain('key');

  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByText('Figures of the fleet need a key with the scope fleet or metrics.').waitFor();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await signIn('key-of-watcher');
  await page.getByText('sessions busy').waitFor();
  expect(await links()).toHaveLength(1);
  await checkAccessibility(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await signIn('key-of-boss');
  await expect.poll(async () => (await links()).length).toBe(8);
  await page.reload();
  await expect.poll(async () => (await links()).length).toBe(8);

  await writeFile(file, JSON.stringify([writer]));
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(problems).toEqual([]);
});
