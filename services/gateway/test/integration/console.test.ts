/** The console's files, and what REST offers for its pages. */
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { connectTestRedis, openFakeWorker, openGateway, probe } from '../fixture.ts';

/** A folder as Vite builds it. */
async function builtConsole(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'harness-console-'));
  await mkdir(join(folder, 'assets'));
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>console</title>');
  await writeFile(join(folder, 'theme.js'), '// theme');
  await writeFile(join(folder, 'assets', 'index-a1b2.js'), '// page');
  await writeFile(join(folder, 'assets', 'index-a1b2.js.br'), brotliCompressSync('// compressed page'));
  return folder;
}

test('the page is served at every path of the console, under a policy without anything inline', async () => {
  const { call } = await openGateway({ consoleFolder: await builtConsole() });
  expect((await call('GET', '/console')).body).toContain('<title>console'); // by way of /console/
  for (const path of ['/console/', '/console/threads', '/console/threads/a.b', '/console/../console/x']) {
    const { status, body, headers } = await call('GET', path);
    expect([path, status, headers.get('cache-control')]).toEqual([path, 200, 'no-cache']);
    expect(body).toContain('<title>console');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  }
  const asset = await call('GET', '/console/assets/index-a1b2.js', { headers: { 'accept-encoding': 'br' } });
  expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect([asset.headers.get('content-encoding'), asset.body]).toEqual(['br', '// compressed page']);
  expect((await call('GET', '/console/assets/index-old.js')).status).toBe(404);
  expect((await call('GET', '/console/theme.js')).body).toBe('// theme');
  for (const path of ['/console/..%2f..%2fetc%2fpasswd', '/console/assets/..%2findex.html'])
    expect((await call('GET', path)).body).not.toContain('root:');
});

test('a gateway whose console is not built says how to build it', async () => {
  const { call } = await openGateway({ consoleFolder: '/nowhere' });
  for (const path of ['/console', '/console/threads']) {
    const { status, body } = await call('GET', path);
    expect([status, body]).toEqual([404, expect.stringContaining('npm run build')]);
  }
});

test('threads are listed with filters, page by page, with their latest runs', async () => {
  const { call } = await openGateway();
  for (const i of [1, 2, 3])
    await call('POST', '/v1/threads', { body: { threadId: `t${i}`, metadata: { customer: i } } });
  await call('POST', '/v1/threads/t2/runs', { body: { input: 'Where is my parcel?' } });
  const list = async (query: string) => (await call('GET', `/v1/threads?${query}`)).body;
  const names = async (query: string) =>
    (await list(query)).threads.map(({ threadId }: { threadId: string }) => threadId);
  expect(await names('state=busy')).toEqual(['t2']);
  expect(await names('state=idle')).toEqual(['t3', 't1']);
  expect(await names('q=PARCEL')).toEqual(['t2']);
  expect(await names('where=customer%3D3')).toEqual(['t3']);
  expect(await names(`from=${new Date(Date.now() + 60_000).toISOString()}`)).toEqual([]);
  expect(await names(`to=${new Date(Date.now() + 60_000).toISOString()}`)).toEqual(['t2', 't3', 't1']);
  const [latest] = (await list('q=parcel&latestRun=true')).threads;
  expect(latest.latestRun).toMatchObject({ status: 'pending', input: 'Where is my parcel?', result: null });
  const first = await list('limit=2');
  expect(first.threads.length).toBe(2);
  const second = await list(`limit=2&cursor=${encodeURIComponent(first.nextCursor)}`);
  expect([second.threads[0].threadId, second.nextCursor]).toEqual(['t1', null]);
  for (const wrong of ['state=sleepy', 'cursor=x', 'where=nothing', 'from=yesterday', 'other=1'])
    expect([wrong, (await call('GET', `/v1/threads?${wrong}`)).status]).toEqual([wrong, 400]);

  const runs = async (query: string) => (await call('GET', `/v1/threads/t2/runs${query}`)).body.runs[0];
  expect((await runs('?input=true')).input).toBe('Where is my parcel?');
  expect(await runs('')).not.toHaveProperty('input');
});

test('a worker’s sessions are listed by thread', async () => {
  const { call, dispatch } = await openGateway();
  const worker = await openFakeWorker(dispatch, connectTestRedis());
  await call('POST', '/v1/threads', { body: { threadId: 'held' } });
  await call('POST', '/v1/threads/held/runs', { body: { input: 'x' } });
  await worker.begin((await dispatch.threads.locate('default', 'held')).ownId);
  const { body } = await call('GET', `/v1/workers/${worker.workerId}/sessions`);
  expect(body.sessions).toEqual([
    {
      tenant: 'default',
      threadId: 'held',
      state: 'busy',
      epoch: expect.any(Number),
      expiresAt: null,
      path: null,
    },
  ]);
  expect((await call('GET', '/v1/workers/wrk_none/sessions')).status).toBe(404);
});

test('differences from the tool lock are shown side by side', async () => {
  const sha256 = '0'.repeat(64);
  const lock = { tools: { probe__whoami: { version: '0.9.0', sha256 }, probe__gone: { sha256 } } };
  const { call } = await openGateway({ plugins: [probe], toolLock: { lock, enforce: false } });
  const { body } = await call('GET', '/v1/tool-lock');
  expect(body.mode).toBe('report');
  expect(body.differences).toContainEqual({
    kind: 'tools',
    name: 'probe__whoami',
    plugin: 'probe',
    difference: 'changed',
    accepted: { version: '0.9.0', sha256 },
    offered: {
      version: '1.0.0',
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      seen: { name: 'whoami', description: 'Tells where the call comes from', schema: {} },
    },
  });
  expect(body.differences).toContainEqual({
    kind: 'tools',
    name: 'probe__gone',
    plugin: null,
    difference: 'missing',
    accepted: { sha256 },
    offered: null,
  });
  expect((await (await openGateway()).call('GET', '/v1/tool-lock')).body).toEqual({
    mode: 'off',
    differences: [],
  });
});
