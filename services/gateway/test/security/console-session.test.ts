/** Sessions of the console: what a cookie may do, when it counts, and when it ends. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { ApiKey } from '../../src/keys/api-keys.ts';
import { openAuthorizationServer, trusting } from '../authorization-server.ts';
import { bearer, connectTestRedis, type GatewayOptions, keyFor, openGateway } from '../fixture.ts';

const keys = [
  keyFor('operator', { id: 'op-1', tenant: 'acme', scopes: ['threads', 'admin'] }),
  keyFor('idler', { id: 'idle-1', tenant: 'acme', scopes: [] }),
  keyFor('watcher', { id: 'watch-1', tenant: 'acme', scopes: ['metrics'] }),
];
const sameOrigin = { 'sec-fetch-site': 'same-origin' };

async function openConsole(options: GatewayOptions = {}) {
  const gateway = await openGateway({ keys, ...options });
  const signIn = (key: string, headers: Record<string, string> = {}) =>
    gateway.call('POST', '/v1/console-session', { headers: { ...bearer(key), ...headers } });
  const cookieFor = async (key: string) =>
    (await signIn(key)).headers.get('set-cookie')?.split(';')[0] as string;
  const statusWith = async (
    cookie: string,
    headers: Record<string, string> = sameOrigin,
    path = '/v1/threads',
  ) => (await gateway.call('GET', path, { headers: { cookie, ...headers } })).status;
  return { ...gateway, signIn, cookieFor, statusWith };
}

test('signing in sets a cookie that only the browser’s requests to /v1 carry, at any gateway', async () => {
  const tag = randomUUID();
  const [one, other] = [await openConsole({ tag }), await openConsole({ tag })];
  const { status, body, headers } = await one.signIn('operator', { origin: one.url });
  expect(status).toBe(201);
  expect(body).toMatchObject({
    tenant: 'acme',
    keyId: 'op-1',
    scopes: ['threads', 'admin'],
    signIn: 'needed',
  });
  const leftMs = Date.parse(body.expiresAt) - Date.now();
  expect(leftMs > 11.9 * 3_600_000 && leftMs <= 12 * 3_600_000).toBe(true);
  const cookie = headers.get('set-cookie') as string;
  expect(cookie).toMatch(
    /^harness_console=hcs_[\w-]{43}; Path=\/v1; Max-Age=(43200|43199); HttpOnly; SameSite=Strict$/,
  );
  expect(await other.statusWith(cookie.split(';')[0] as string)).toBe(200);
  const secure = await one.app.inject({
    method: 'POST',
    url: '/v1/console-session',
    headers: { ...bearer('operator'), host: 'gateway.test', origin: 'https://gateway.test' },
  });
  expect(secure.headers['set-cookie']).toMatch(/; SameSite=Strict; Secure$/);
});

test('the cookie is accepted only if the browser states the console’s own origin, and never at /mcp', async () => {
  const { url, call, cookieFor, statusWith } = await openConsole();
  const cookie = await cookieFor('operator');
  for (const [headers, status] of [
    [{}, 401],
    [{ 'sec-fetch-site': 'same-site' }, 401],
    [{ 'sec-fetch-site': 'cross-site' }, 401],
    [{ 'sec-fetch-site': 'none' }, 401],
    [sameOrigin, 200],
    [{ origin: url }, 200],
    [{ origin: 'https://app.test' }, 401], // allowed to call, with a key of its own
    [{ origin: 'https://app.test', ...sameOrigin }, 401],
    [{ origin: 'https://evil.test', ...sameOrigin }, 403],
  ] as const)
    expect([headers, await statusWith(cookie, headers)]).toEqual([headers, status]);
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  for (const headers of [sameOrigin, { origin: url }])
    expect((await call('POST', '/mcp', { body: list, headers: { cookie, ...headers } })).status).toBe(401);
});

test('the session has the rights of its key, does not prolong itself, and ends at signing out', async () => {
  const { call, cookieFor, statusWith, signIn } = await openConsole();
  expect(await statusWith(await cookieFor('watcher'), sameOrigin, '/v1/figures')).toBe(200);
  expect(await statusWith(await cookieFor('watcher'), sameOrigin, '/v1/threads')).toBe(403);
  expect((await signIn('idler')).status).toBe(403);
  expect((await signIn('nobody')).status).toBe(401);
  const cookie = await cookieFor('operator');
  const headers = { cookie, ...sameOrigin };
  expect(await statusWith(cookie, sameOrigin, '/v1/tools')).toBe(403);
  expect((await call('POST', '/v1/console-session', { headers })).status).toBe(401);
  const me = (await call('GET', '/v1/console-session', { headers })).body;
  expect(me).toMatchObject({ keyId: 'op-1', expiresAt: expect.any(String) });
  const out = await call('DELETE', '/v1/console-session', { headers });
  expect([out.status, out.headers.get('set-cookie')]).toEqual([204, expect.stringContaining('Max-Age=0')]);
  expect(await statusWith(cookie)).toBe(401);
  for (const made of ['harness_console=', 'harness_console=hcs_x', 'other=1'])
    expect([made, await statusWith(made)]).toEqual([made, 401]);
});

test('the session ends with its key: revoked, or changed in the key file, also under the same id', async () => {
  const listeners: (() => void)[] = [];
  let file: ApiKey[] = [keyFor('filed', { id: 'f', tenant: 'acme', scopes: ['threads', 'tools'] })];
  const keyFile = {
    current: () => file,
    onChange: (listener: () => void) => void listeners.push(listener),
    close: () => undefined,
  };
  const { call, cookieFor, statusWith } = await openConsole({ keyFile });
  const change = (changed: ApiKey[]) => {
    file = changed;
    for (const listener of listeners) listener();
  };
  const narrowed = keyFor('filed', { id: 'f', tenant: 'acme', scopes: ['threads'] });
  const ended = { ...narrowed, notAfter: new Date(Date.now() - 1).toISOString() };
  const replaced = keyFor('another secret', { id: 'f', tenant: 'acme', scopes: ['threads', 'tools'] });
  const before = file;
  for (const after of [[narrowed], [replaced], [ended], []]) {
    change(before);
    const cookie = await cookieFor('filed');
    expect(await statusWith(cookie)).toBe(200);
    change(after);
    expect([after, await statusWith(cookie)]).toEqual([after, 401]);
  }

  const made = await call('POST', '/v1/keys', {
    body: { id: 'k', scopes: ['threads'] },
    headers: bearer('operator'),
  });
  const cookie = await cookieFor(made.body.key);
  expect(await statusWith(cookie)).toBe(200);
  await call('DELETE', '/v1/keys/k', { headers: bearer('operator') });
  expect(await statusWith(cookie)).toBe(401);
});

test('a session ends with its key or access token if that ends sooner', async () => {
  const server = await openAuthorizationServer();
  const notAfter = new Date(Date.now() + 60_000).toISOString();
  const ending = keyFor('ending', { tenant: 'acme', scopes: ['threads'], notAfter });
  const { signIn, cookieFor, statusWith } = await openConsole({
    keys: [...keys, ending],
    oauth: trusting(server),
  });
  const token = await server.sign({ tenant: 'acme', sub: 'mary', scope: 'threads' });
  for (const key of ['ending', token]) {
    const { body } = await signIn(key);
    expect(Date.parse(body.expiresAt) - Date.now()).toBeLessThan(3_600_000);
    expect(await statusWith(await cookieFor(key))).toBe(200);
  }
});

test('a gateway without keys has no sign-in', async () => {
  const { call } = await openConsole({ keys: [] });
  const me = await call('GET', '/v1/console-session');
  expect([me.status, me.body.signIn, me.body.scopes.includes('admin')]).toEqual([200, 'none', true]);
  expect((await call('POST', '/v1/console-session')).headers.get('set-cookie')).toBeNull();
  const cookie = 'harness_console=of-another-gateway-on-this-machine';
  expect((await call('GET', '/v1/threads', { headers: { cookie, ...sameOrigin } })).status).toBe(200);
});

test('Redis has no token; beyond the limit the oldest sessions of a key end', async () => {
  const tag = randomUUID();
  const { cookieFor, statusWith } = await openConsole({ tag });
  const first = await cookieFor('operator');
  for (let i = 0; i < 99; i++) await cookieFor('operator');
  expect(await statusWith(first)).toBe(200);
  const last = await cookieFor('operator');
  expect([await statusWith(first), await statusWith(last)]).toEqual([401, 200]);
  const redis = connectTestRedis();
  const names = await redis.keys(`{${tag}}:csession*`);
  expect(names.length).toBe(101); // 100 and their list
  const token = last.split('=')[1] as string;
  for (const name of names) {
    expect(name).not.toContain(token);
    if (name.includes(':csession:')) expect(await redis.get(name)).not.toContain(token);
  }
});
