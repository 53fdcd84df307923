/** Who may read the audit; records of keys and of access tokens. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuditRecord } from '@harness/contracts';
import { expect, onTestFinished, test } from 'vitest';
import { createKey, revokeKey } from '../../src/keys/edit-keys.ts';
import { followKeyFile } from '../../src/keys/key-file.ts';
import { openAudited } from '../audited-gateway.ts';
import { openAuthorizationServer, trusting } from '../authorization-server.ts';
import { bearer } from '../fixture.ts';

/** All records of GET /v1/audit that a key sees, in pages of `limit`. */
async function readAll(call: ReturnType<Awaited<ReturnType<typeof openAudited>>['as']>, limit = 200) {
  const records: AuditRecord[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { status, body } = await call('GET', `/v1/audit?limit=${limit}${cursor && `&cursor=${cursor}`}`);
    expect(status).toBe(200);
    expect(body.records.length).toBeLessThanOrEqual(limit);
    records.push(...body.records);
    cursor = body.nextCursor;
  }
  return records;
}

test('an admin reads the records of the own tenant, newest first, page by page; other callers are refused', async () => {
  const { as } = await openAudited();
  const call = as('key-of-acme');
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.push((await call('POST', '/v1/threads', {})).body.threadId);
  await as('key-of-umbrella')('POST', '/v1/threads', {});
  await expect.poll(async () => (await readAll(call)).length).toBe(5);
  const pages = await readAll(call, 2);
  expect(pages.map(({ target }) => target)).toEqual(ids.toReversed());
  expect(pages.map(({ at }) => at)).toEqual(
    pages
      .map(({ at }) => at)
      .sort()
      .reverse(),
  );
  expect(Object.keys(pages[0] ?? {})).toEqual([
    'at',
    'tenant',
    'keyId',
    'subject',
    'address',
    'action',
    'target',
    'outcome',
    'requestId',
  ]);
  expect((await readAll(as('key-of-umbrella'))).map(({ tenant }) => tenant)).toEqual(['umbrella']);
  const all = () => readAll(as('key-of-the-fleet'));
  expect((await as('key-of-tools')('GET', '/v1/audit')).status).toBe(403);
  await expect.poll(async () => (await all()).map(({ tenant }) => tenant)).toContain('umbrella');
  await expect.poll(async () => (await all()).map(({ outcome }) => outcome)).toContain('forbidden');
  for (const query of [
    'limit=0',
    'limit=201',
    'cursor=x',
    'cursor=-1-1',
    'limit=1&cursor=0-0',
    'cursor=00-0',
  ])
    expect([query, (await call('GET', `/v1/audit?${query}`)).status]).toEqual([query, 400]);
});

test('a change of the key file leaves a record for each key', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'harness-audit-'));
  const path = join(dir, 'keys.json');
  const logger = { info: () => undefined, error: () => undefined } as never;
  const keyFile = followKeyFile(path, { keys: [], logger });
  onTestFinished(async () => {
    keyFile.close();
    await rm(dir, { recursive: true, force: true });
  });
  const { first } = await openAudited({ keyFile });
  await createKey(path, { id: 'one', tenant: 'acme', scopes: ['threads'] });
  await first(1);
  await revokeKey(path, 'one');
  const lines = await first(2);
  const source = { tenant: 'acme', keyId: null, address: null, target: 'one', outcome: 'ok' };
  expect(lines).toMatchObject([
    { ...source, action: 'keysFile/added' },
    { ...source, action: 'keysFile/removed' },
  ]);
});

test('the subject of an access token is recorded', async () => {
  const server = await openAuthorizationServer();
  const { call, first } = await openAudited({ oauth: trusting(server) });
  const token = await server.sign({ tenant: 'acme', sub: 'mary@example.com', scope: 'threads' });
  await call('POST', '/v1/threads', { body: {}, headers: bearer(token) });
  expect((await first(1))[0]).toMatchObject({ keyId: 'oauth:mary@example.com', subject: 'mary@example.com' });
});
