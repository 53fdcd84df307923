/** Files of threads: other tenants, paths out of the folder, names and contents that are attacks. */
import { request } from 'node:http';
import { expect, test } from 'vitest';
import { bearer, keyFor, openGateway } from '../fixture.ts';

async function openThread() {
  const keys = [keyFor('key-of-a', { tenant: 'a' }), keyFor('key-of-b', { tenant: 'b' })];
  const gateway = await openGateway({ keys });
  const make = async (key: string) =>
    (await gateway.call('POST', '/v1/threads', { body: {}, headers: bearer(key) })).body.threadId;
  const threadId: string = await make('key-of-a');
  const put = (path: string, body: string, key = 'key-of-a') =>
    gateway.call('PUT', `/v1/threads/${threadId}/files/${path}`, {
      body,
      headers: { 'content-type': 'application/octet-stream', ...bearer(key) },
    });
  const get = (path: string, key = 'key-of-a') => gateway.call('GET', path, { headers: bearer(key) });
  return { gateway, threadId, put, get, make };
}

/** Sends a path as it is: fetch would normalize it. */
const rawGet = (url: string, path: string) =>
  new Promise<{ status: number; text: string }>((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const sent = request({ hostname, port, path, headers: bearer('key-of-a') }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on('error', reject);
    sent.end();
  });

test('another tenant reads nothing, neither by the thread nor by a digest that it knows', async () => {
  const { threadId, put, get, make } = await openThread();
  const { version } = (await put('secret.txt', 'secret')).body;
  for (const path of ['files', 'files/secret.txt', 'files?format=tar', 'diff', `diff?from=${version}`]) {
    const { status, body } = await get(`/v1/threads/${threadId}/${path}`, 'key-of-b');
    expect([path, status, body.error.code]).toEqual([path, 404, 'thread_not_found']);
  }
  expect((await put('secret.txt', 'x', 'key-of-b')).status).toBe(404);
  const own = await make('key-of-b');
  const { status, body } = await get(`/v1/threads/${own}/diff?to=${version}`, 'key-of-b');
  expect([status, body.error.code]).toEqual([404, 'file_not_found']);
});

test('no path leads out of the thread’s files', async () => {
  const { gateway, threadId, put, get } = await openThread();
  await put('a', 'x');
  const files = `/v1/threads/${threadId}/files`;
  for (const path of [
    '../../../etc/passwd',
    '..%2f..%2f..%2fetc%2fpasswd',
    '%2e%2e/%2e%2e/etc/passwd',
    '/etc/passwd',
    '%2fetc%2fpasswd',
    'a%00',
    'a/../a',
    './a',
    `${'d%2f'.repeat(70)}a`,
    '%ff',
  ]) {
    const { status, text } = await rawGet(gateway.url, `${files}/${path}`);
    expect([path, [400, 404].includes(status)]).toEqual([path, true]);
    expect(text).not.toContain('root:');
  }
  for (const path of ['..%2fx', '%2fx', 'a%2fb', 'x%00y', 'x%2f%2fy'])
    expect([path, (await put(path, 'x')).status]).toEqual([path, 400]);
  expect((await get(files)).body.files.map(({ path }: { path: string }) => path)).toEqual(['a']);
});

test('a name is no header, and content is never shown or run by a browser', async () => {
  const { gateway, threadId, put } = await openThread();
  const name = 'x"\r\nSet-Cookie: a=b\r\n<script>.svg';
  const path = encodeURIComponent(name);
  expect((await put(path, '<svg onload="alert(1)"/>')).status).toBe(200);
  const response = await fetch(`${gateway.url}/v1/threads/${threadId}/files/${path}`, {
    headers: bearer('key-of-a'),
  });
  expect(response.status).toBe(200);
  const { headers } = response;
  expect(headers.get('set-cookie')).toBeNull();
  expect(headers.get('content-disposition')).toBe(
    `attachment; filename="x___Set-Cookie: a=b__<script>.svg"; filename*=UTF-8''${path}`,
  );
  expect(headers.get('content-type')).toBe('application/octet-stream');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('content-security-policy')).toBe("sandbox; default-src 'none'");
});

test('an upload is bounded, whether it says its length or not', async () => {
  const { gateway, threadId } = await openThread();
  const url = `${gateway.url}/v1/threads/${threadId}/files/large`;
  const headers = { 'content-type': 'application/octet-stream', ...bearer('key-of-a') };
  const chunk = Buffer.alloc(1024 * 1024);
  const send = (length: number | undefined, chunks: number) =>
    new Promise<number>((resolve) => {
      const more = length === undefined ? {} : { 'content-length': length };
      const sent = request(url, { method: 'PUT', headers: { ...headers, ...more } }, (response) => {
        resolve(response.statusCode ?? 0);
        sent.destroy();
      });
      sent.on('error', () => undefined); // it was answered before all was sent
      for (let n = 0; n < chunks; n++) sent.write(chunk);
      if (length === undefined) sent.end();
    });
  expect(await send(65 * 1024 * 1024, 1)).toBe(413);
  expect(await send(undefined, 65)).toBe(413);
});
