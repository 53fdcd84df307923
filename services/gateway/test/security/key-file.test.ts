import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createKey, revokeKey } from '../../src/keys/edit-keys.ts';
import { followKeyFile } from '../../src/keys/key-file.ts';
import { bearer, openGateway } from '../fixture.ts';
import { listToolsThrough } from '../list-tools-through.ts';

async function openKeyFile() {
  const dir = await mkdtemp(join(tmpdir(), 'harness-key-file-'));
  const path = join(dir, 'keys.json');
  await writeFile(path, '[]');
  const lines: string[] = [];
  const line = (_fields: object, message: string) => void lines.push(message);
  const keyFile = followKeyFile(path, { keys: [], logger: { info: line, error: line } as never });
  onTestFinished(async () => {
    keyFile.close();
    await rm(dir, { recursive: true, force: true });
  });
  const gateway = await openGateway({ keyFile });
  const statusWith = async (key: string) =>
    (await gateway.call('GET', '/v1/threads', { headers: bearer(key) })).status;
  return { path, lines, gateway, statusWith };
}

const inTime = { timeout: 5_000 };
const ofAcme = { tenant: 'acme', scopes: ['threads' as const, 'tools' as const] };

test('a key is valid soon after it is written, and invalid soon after it is revoked', async () => {
  const { path, gateway, statusWith } = await openKeyFile();
  expect((await gateway.call('GET', '/v1/threads')).status).toBe(401); // an empty file: no API key is accepted
  const key = await createKey(path, { id: 'one', ...ofAcme });
  await expect.poll(() => statusWith(key), inTime).toBe(200);
  await revokeKey(path, 'one');
  await expect.poll(() => statusWith(key), inTime).toBe(401);
});

test('a revoked key ends at /mcp, too, on a connection that stays open', async () => {
  const { path, gateway, statusWith } = await openKeyFile();
  const key = await createKey(path, { id: 'one', ...ofAcme });
  await expect.poll(() => statusWith(key), inTime).toBe(200);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const list = () => listToolsThrough(agent, { url: gateway.url, key });
  expect(await list()).toBe(200);
  await revokeKey(path, 'one');
  await expect.poll(list, inTime).toBe(401);
});

test('a key is accepted between its notBefore and its notAfter', async () => {
  const { path, statusWith } = await openKeyFile();
  const at = (ms: number) => new Date(Date.now() + ms).toISOString();
  const late = await createKey(path, { id: 'late', ...ofAcme, notBefore: at(3_000) });
  const short = await createKey(path, { id: 'short', ...ofAcme, notAfter: at(3_000) });
  await expect.poll(() => statusWith(short), inTime).toBe(200);
  expect(await statusWith(late)).toBe(401);
  await expect.poll(() => statusWith(late), inTime).toBe(200);
  await expect.poll(() => statusWith(short), inTime).toBe(401);
});

test('a change between the start of the process and the first poll is read', async () => {
  const { path } = await openKeyFile();
  await createKey(path, { id: 'early', ...ofAcme });
  const logger = { info: () => undefined, error: () => undefined } as never;
  const late = followKeyFile(path, { keys: [], logger });
  onTestFinished(late.close);
  await expect.poll(() => late.current().map(({ id }) => id), inTime).toEqual(['early']);
});

test('a broken file is reported, and the earlier keys stay valid', async () => {
  const { path, lines, statusWith } = await openKeyFile();
  const key = await createKey(path, { id: 'one', ...ofAcme });
  await expect.poll(() => statusWith(key), inTime).toBe(200);
  await writeFile(path, '[{"id": "one"');
  await expect.poll(() => lines.at(-1), inTime).toContain('correct the file');
  expect(await statusWith(key)).toBe(200);
});
