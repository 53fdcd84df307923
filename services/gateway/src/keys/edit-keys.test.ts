import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createKey, readKeys, revokeKey } from './edit-keys.ts';

let file = '';
beforeEach(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'harness-keys-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  file = join(dir, 'keys.json');
});

test('a key is created, listed and revoked; the file has its hash alone and is its owner’s', async () => {
  const key = await createKey(file, { id: 'ci', tenant: 'acme', scopes: ['threads'] });
  expect(key).toMatch(/^hk_[\w-]{43}$/);
  expect(await readKeys(file)).toEqual([
    { id: 'ci', tenant: 'acme', scopes: ['threads'], keySha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
  ]);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  await revokeKey(file, 'ci');
  expect(await readKeys(file)).toEqual([]);
});

test('an invalid change is refused, and the file stays as it is', async () => {
  await createKey(file, { id: 'ci', tenant: 'acme', scopes: ['threads'] });
  const before = await readKeys(file);
  const wrong = { id: 'x', tenant: 'acme', scopes: ['threads'] } as const;
  await expect(createKey(file, { ...wrong, id: 'ci', scopes: ['tools'] })).rejects.toThrow(/already/);
  await expect(createKey(file, { ...wrong, scopes: [] })).rejects.toThrow(/scopes/);
  await expect(createKey(file, { ...wrong, scopes: ['threads'], notAfter: 'soon' })).rejects.toThrow(
    /notAfter/,
  );
  await expect(revokeKey(file, 'nobody')).rejects.toThrow(/no key "nobody"/);
  expect(await readKeys(file)).toEqual(before);
});
