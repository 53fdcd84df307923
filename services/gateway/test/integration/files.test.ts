import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@harness/runtime';
import { openFileStore } from '@harness/workspaces';
import { expect, test } from 'vitest';
import { collectFiles } from '../../src/files/collect-files.ts';
import { connectTestRedis, openFakeWorker, openGateway } from '../fixture.ts';
import { octets, openThread } from '../thread-with-files.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

test('a file is written, listed, downloaded as an attachment, and deleted', async () => {
  const { gateway, url, put, fetched, changes } = await openThread();
  const text = '<script>alert(1)</script>';
  const written = await put('src/päge.html', text);
  expect([written.status, written.body]).toEqual([
    200,
    { version: expect.stringMatching(/^[0-9a-f]{64}$/), changed: ['src', 'src/päge.html'], more: 0 },
  ]);
  expect(written.headers.get('etag')).toBe(`"${sha256(text)}"`);
  const { body: list, headers } = await gateway.call('GET', `${url}/files`);
  expect(list).toEqual({
    version: written.body.version,
    count: 1,
    bytes: text.length,
    files: [
      { path: 'src', kind: 'dir', mode: 0o755 },
      { path: 'src/päge.html', kind: 'file', mode: 0o644, size: text.length, sha256: sha256(text) },
    ],
  });
  expect(headers.get('etag')).toBe(`"${list.version}"`);
  expect((await gateway.call('GET', url)).body.files).toBe(list.version);
  for (const path of ['src/päge.html', 'src%2Fp%C3%A4ge.html']) {
    const response = await fetched(path);
    expect(await response.text()).toBe(text);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="p_ge.html"; filename*=UTF-8''p%C3%A4ge.html`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      etag: `"${sha256(text)}"`,
    });
  }
  expect((await gateway.call('DELETE', `${url}/files/src`)).body).toMatchObject({
    changed: ['src', 'src/päge.html'],
  });
  expect((await fetched('src/päge.html')).status).toBe(404);
  expect((await changes()).map(({ data }: { data: { changed: string[] } }) => data.changed)).toEqual([
    ['src', 'src/päge.html'],
    ['src', 'src/päge.html'],
  ]);
});

test('ETags and ranges', async () => {
  const { put, fetched, gateway, url } = await openThread();
  await put('a', '0123456789');
  const etag = `"${sha256('0123456789')}"`;
  const known = await fetched('a', { 'if-none-match': etag });
  expect([known.status, await known.text()]).toEqual([304, '']);
  for (const [range, status, text, contentRange] of [
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=0-99', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=0-1,3-4', 200, '0123456789', null],
    ['bytes=5-2', 200, '0123456789', null],
  ] as const) {
    const response = await fetched('a', { range });
    expect([range, response.status, await response.text()]).toEqual([range, status, text]);
    expect(response.headers.get('content-range')).toBe(contentRange);
  }
  expect((await fetched('a', { range: 'bytes=10-' })).status).toBe(416);
  expect((await fetched('a', { range: 'bytes=0-1', 'if-range': '"other"' })).status).toBe(200);

  expect((await put('a', 'x', { 'if-none-match': '*' })).status).toBe(412);
  const refused = await put('a', 'x', { 'if-match': '"other"' });
  expect([refused.status, refused.body.error.details]).toEqual([412, { etag }]);
  expect((await put('a', 'x', { 'if-match': etag })).status).toBe(200);
  expect((await put('new', 'x', { 'if-match': '*' })).status).toBe(412);
  const gone = await gateway.call('DELETE', `${url}/files/a`, { headers: { 'if-match': etag } });
  expect(gone.status).toBe(412);
});

test('changes at the same time are all kept', async () => {
  const { put, gateway, url } = await openThread();
  const statuses = await Promise.all(
    ['a', 'b', 'c', 'd', 'e'].map(async (path) => (await put(path, path)).status),
  );
  expect(statuses).toEqual([200, 200, 200, 200, 200]);
  const { files } = (await gateway.call('GET', `${url}/files`)).body;
  expect(files.map(({ path }: { path: string }) => path)).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('during a turn changes are refused; the version of each run can be read', async () => {
  const { gateway, threadId, url, put, fetched } = await openThread();
  const { dispatch } = gateway;
  await put('a', 'one');
  const sent = await gateway.call('POST', `${url}/runs`, { body: { input: 'x' } });
  const { runId } = sent.body;
  const worker = await openFakeWorker(dispatch, connectTestRedis());
  const turn = await worker.begin(threadId);
  const before = turn.files ?? '';
  const refused = await put('a', 'two');
  expect([refused.status, refused.body.error.code]).toEqual([409, 'run_in_progress']);
  expect((await gateway.call('DELETE', `${url}/files/a`)).status).toBe(409);
  expect((await fetched(`a?run=${runId}`)).status).toBe(404);
  await dispatch.lease.commit(turn, { status: 'success' });
  await put('a', 'two');
  expect(await (await fetched('a')).text()).toBe('two');
  expect(await (await fetched(`a?run=${runId}`)).text()).toBe('one');
  expect((await gateway.call('GET', `${url}/files?run=${runId}`)).body.version).toBe(before);
  const other = await gateway.call('POST', '/v1/threads', { body: {} });
  const foreign = await gateway.call('GET', `/v1/threads/${other.body.threadId}/files?run=${runId}`);
  expect(foreign.status).toBe(404);
});

test('the diff of two versions: the last run’s change by default', async () => {
  const { gateway, threadId, url, put } = await openThread();
  const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
  const diff = async (query = '') => (await gateway.call('GET', `${url}/diff${query}`)).body;
  expect(await diff()).toBe('');
  const runIds: string[] = [];
  for (const text of ['one\n', 'two\n']) {
    const { version } = (await put('a', text)).body;
    await gateway.call('POST', `${url}/runs`, { body: { input: 'x' } });
    const { runId } = await worker.finish(threadId, {
      status: 'success',
      files: { version, changed: [], more: 0 },
    });
    runIds.push(runId);
  }
  const change = '--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-one\n+two\n';
  expect(await diff()).toBe(change);
  expect(await diff(`?from=${runIds[0]}&to=${runIds[1]}`)).toBe(change);
  expect(await diff(`?to=${runIds[1]}`)).toBe(change);
  expect(await diff(`?to=${runIds[0]}`)).toContain('--- /dev/null');
  const { version } = (await put('a', 'three\n')).body;
  expect(await diff(`?from=${version}&to=${runIds[1]}`)).toContain('-three\n+two\n');
  expect((await gateway.call('GET', `${url}/diff?from=${'0'.repeat(64)}`)).status).toBe(404);
});

test('a tar archive goes both ways; a bad one changes nothing', async () => {
  const { gateway, url, put, fetched } = await openThread();
  await put('kept', 'kept');
  await put('dir/a', 'old');
  const archive = await (await fetch(`${gateway.url}${url}/files?format=tar`)).arrayBuffer();
  const listed = execFileSync('tar', ['-t'], { input: Buffer.from(archive) });
  expect(`${listed}`).toBe('dir/\ndir/a\nkept\n');
  const send = (body: Buffer, type = 'application/x-tar') =>
    fetch(`${gateway.url}${url}/files?format=tar`, {
      method: 'PUT',
      body: new Uint8Array(body),
      headers: { 'content-type': type },
    });
  const folder = execFileSync('mktemp', ['-d']).toString().trim();
  const made = execFileSync('sh', [
    '-c',
    `cd ${folder} && mkdir dir && printf new > dir/a && printf b > b && tar -c dir b && ln -s /etc/passwd link && tar -cf links.tar link`,
  ]);
  const sent = await send(made);
  expect([sent.status, await sent.json()]).toMatchObject([200, { changed: ['b', 'dir/a'] }]);
  expect(await (await fetched('dir/a')).text()).toBe('new');
  expect(await (await fetched('kept')).text()).toBe('kept');
  const links = await send(execFileSync('cat', [join(folder, 'links.tar')]));
  const { error } = (await links.json()) as { error: { message: string } };
  expect([links.status, error.message]).toEqual([400, expect.stringContaining('symlink')]);
  execFileSync('rm', ['-r', folder]);
  expect((await send(Buffer.from('no archive'))).status).toBe(400);
  expect((await send(made, 'application/octet-stream')).status).toBe(415);
  const json = await send(made, 'application/json');
  const refused = (await json.json()) as { error: { message: string } };
  expect([json.status, refused.error.message]).toEqual([415, expect.stringContaining('application/x-tar')]);
  expect((await gateway.call('GET', `${url}/files`)).body.count).toBe(3);
});

test('where there are no workspaces, or the thread has none, every refusal has the reason', async () => {
  const { gateway, url, put } = await openThread({ filesDir: null });
  const file = { path: 'a', contentBase64: '' };
  const answers = [
    await put('a', 'x'),
    await gateway.call('GET', `${url}/files`),
    await gateway.call('GET', `${url}/files/a`),
    await gateway.call('GET', `${url}/diff`),
    await gateway.call('DELETE', `${url}/files/a`),
    await gateway.call('POST', '/v1/threads', { body: { workspace: true } }),
    await gateway.call('POST', '/v1/tasks', { body: { prompt: 'x', workspace: true } }),
    await gateway.call('POST', `${url}/runs`, { body: { input: 'x', files: [file] } }),
  ];
  for (const { status, body } of answers)
    expect([status, body.error.code, body.error.message]).toEqual([
      422,
      'workspace_refused',
      expect.stringContaining('HARNESS_WORKSPACES is off'),
    ]);
  const on = await openThread();
  const none = (await on.gateway.call('POST', '/v1/threads', { body: { workspace: false } })).body;
  expect((await on.gateway.call('GET', `/v1/threads/${none.threadId}/files`)).body.error.code).toBe(
    'workspace_refused',
  );
});

test('garbage is collected at one gateway, and never that of other data', async () => {
  const filesDir = join(tmpdir(), `harness-files-${randomUUID()}`);
  const { gateway, url, put, fetched } = await openThread({ filesDir });
  const { dispatch } = gateway;
  await put('a', 'one');
  await put('a', 'two');
  const store = openFileStore({ dir: filesDir });
  const logger = createLogger('test', 'silent');
  const stored = async () => (await store.of('default').verify([])).blobs;
  const before = await stored();
  for (const _ of [1, 2]) await collectFiles({ dispatch, store, logger }, 0);
  expect(await stored()).toBeLessThan(before);
  expect(await (await fetched('a')).text()).toBe('two');
  const kept = await stored();
  const stranger = await openGateway({ filesDir });
  await collectFiles({ dispatch: stranger.dispatch, store, logger }, 0);
  await collectFiles({ dispatch: stranger.dispatch, store, logger }, 0);
  expect(await stored()).toBe(kept);
  await gateway.call('DELETE', url);
  for (const _ of [1, 2]) await collectFiles({ dispatch, store, logger }, 0);
  expect(await stored()).toBe(0);
});

test('downloads and uploads that a client or the store aborts do not harm the gateway', async () => {
  const filesDir = join(tmpdir(), `harness-files-${randomUUID()}`);
  const { gateway, url, put } = await openThread({ filesDir });
  await put('large', 'x'.repeat(20_000_000));
  await put('zz', 'y');
  const tar = `${gateway.url}${url}/files?format=tar`;
  for (const path of [tar, `${gateway.url}${url}/files/large`]) {
    const left = new AbortController();
    const { body } = await fetch(path, { signal: left.signal });
    await body?.getReader().read();
    left.abort();
  }
  const upload = request(`${gateway.url}${url}/files/broken`, { method: 'PUT', headers: octets });
  upload.on('error', () => undefined); // it is broken off here
  upload.write(Buffer.alloc(1_000_000));
  const tmp = join(filesDir, 't-default', 'tmp');
  await expect.poll(() => readdir(tmp)).toHaveLength(1);
  upload.destroy();
  await expect.poll(() => readdir(tmp)).toEqual([]);
  await rm(join(filesDir, 't-default', 'blobs', sha256('y').slice(0, 2), sha256('y')));
  await expect(fetch(tar).then((response) => response.arrayBuffer())).rejects.toThrow();
  const gone = await gateway.call('GET', `${url}/files/zz`);
  expect([gone.status, gone.body.error.code]).toEqual([500, 'file_damaged']);
  expect((await gateway.call('GET', `${url}/files`)).body.count).toBe(2);
});
