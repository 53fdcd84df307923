/** API keys that an administrator makes by the API. */
import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { type ApiKey, sha256Of } from '../../src/keys/api-keys.ts';
import { openAuthorizationServer, trusting } from '../authorization-server.ts';
import {
  bearer,
  connectTestRedis,
  type GatewayOptions,
  keyFor,
  openFakeWorker,
  openGateway,
} from '../fixture.ts';
import { listToolsThrough } from '../list-tools-through.ts';

const admin: ApiKey['scopes'] = ['admin', 'threads', 'tools', 'tasks'];
const keys = [
  keyFor('boss-of-acme', { id: 'boss', tenant: 'acme', scopes: admin }),
  keyFor('boss-of-umbrella', { id: 'other', tenant: 'umbrella', scopes: admin }),
  keyFor('limited', { id: 'limited', tenant: 'acme', scopes: ['admin', 'tools'], tools: ['time__*'] }),
  keyFor('no-admin', {
    id: 'no-admin',
    tenant: 'acme',
    scopes: ['threads', 'tools', 'tasks', 'bus', 'fleet'],
  }),
];

async function openKeys(options: GatewayOptions = {}) {
  const gateway = await openGateway({ keys, ...options });
  const as = (key: string) => (method: string, path: string, body?: unknown) =>
    gateway.call(method, path, { headers: bearer(key), ...(body === undefined ? {} : { body }) });
  const statusWith = async (key: string) => (await as(key)('GET', '/v1/threads')).status;
  return { ...gateway, as, statusWith };
}

const inTime = { timeout: 2_000 };

test('a key is shown once, and is valid at once where it was made, within 2 s elsewhere, and after a restart', async () => {
  const tag = randomUUID();
  const [one, other] = [await openKeys({ tag }), await openKeys({ tag })];
  const boss = one.as('boss-of-acme');
  const { status, body } = await boss('POST', '/v1/keys', { id: 'ci', scopes: ['threads'] });
  expect(status).toBe(201);
  const { key, ...shown } = body;
  expect(shown).toEqual({
    id: 'ci',
    tenant: 'acme',
    scopes: ['threads'],
    createdAt: expect.any(String),
    createdBy: 'boss',
    source: 'api',
  });
  expect(key).toMatch(/^hk_[\w-]{43}$/);
  expect(await one.statusWith(key)).toBe(200);
  await expect.poll(() => other.statusWith(key), inTime).toBe(200);
  const next = await openKeys({ tag });
  expect(await next.statusWith(key)).toBe(200);
  expect((await one.as(key)('GET', '/v1/tools')).status).toBe(403);

  const { body: listed } = await boss('GET', '/v1/keys');
  expect(listed.keys).toEqual([
    { id: 'boss', tenant: 'acme', scopes: admin, source: 'environment' },
    expect.objectContaining({ id: 'limited', source: 'environment' }),
    expect.objectContaining({ id: 'no-admin' }),
    shown,
  ]);
  expect(JSON.stringify(listed)).not.toMatch(/keySha256|hk_/);
  const stored = await connectTestRedis().hget(one.dispatch.keys.of('apikeys', 'acme'), 'ci');
  expect(stored).toContain(sha256Of(key).toString('hex'));
  expect(stored).not.toContain(key);

  expect((await boss('DELETE', '/v1/keys/ci')).status).toBe(204);
  expect(await one.statusWith(key)).toBe(401);
  for (const gateway of [other, next]) await expect.poll(() => gateway.statusWith(key), inTime).toBe(401);
  expect((await boss('DELETE', '/v1/keys/ci')).status).toBe(404);
});

test('a revoked key ends within 2 s on a connection that stays open, also at /mcp', async () => {
  const tag = randomUUID();
  const [one, other] = [await openKeys({ tag }), await openKeys({ tag })];
  const { key } = (await one.as('boss-of-acme')('POST', '/v1/keys', { id: 'ci', scopes: ['tools'] })).body;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const list = () => listToolsThrough(agent, { url: other.url, key });
  await expect.poll(list, inTime).toBe(200);
  await one.as('boss-of-acme')('DELETE', '/v1/keys/ci');
  await expect.poll(list, inTime).toBe(401);
});

test('the rights of a revoked key’s waiting messages end', async () => {
  const { as, dispatch } = await openKeys();
  const boss = as('boss-of-acme');
  const make = async (id: string) =>
    (await boss('POST', '/v1/keys', { id, scopes: ['threads', 'tools'] })).body.key as string;
  const worker = await openFakeWorker(dispatch, connectTestRedis());
  const threadOf = async (key: string) => {
    const { threadId } = (await as(key)('POST', '/v1/threads', {})).body;
    await as(key)('POST', `/v1/threads/${threadId}/runs`, { input: 'x' });
    return threadId as string;
  };
  const [kept, revoked] = [await threadOf(await make('kept')), await threadOf(await make('revoked'))];
  await boss('DELETE', '/v1/keys/revoked');
  expect((await worker.begin(kept)).runTools).not.toBe('[]');
  expect((await worker.begin(revoked)).runTools).toBe('[]');
});

test('a key has at most its maker’s rights', async () => {
  const { as } = await openKeys();
  const boss = as('boss-of-acme');
  const refused: [string, object][] = [
    ['boss-of-acme', { scopes: ['bus'] }],
    ['boss-of-acme', { scopes: ['fleet'] }],
    ['boss-of-acme', { scopes: ['threads'], tenant: 'umbrella' }],
    ['limited', { scopes: ['threads'] }],
    ['limited', { scopes: ['tools'], tools: ['bus__poll_task'] }],
    ['limited', { scopes: ['tools'], tools: ['*'] }],
    ['no-admin', { scopes: ['threads'] }],
  ];
  for (const [who, wanted] of refused)
    expect([who, wanted, (await as(who)('POST', '/v1/keys', wanted)).status]).toEqual([who, wanted, 403]);
  const malformed = [
    {},
    { scopes: [] },
    { scopes: ['nothing'] },
    { scopes: ['threads'], id: 'a b' },
    { scopes: ['threads'], keySha256: '0'.repeat(64) },
    { scopes: ['threads'], notAfter: 'tomorrow' },
    { scopes: ['threads'], notAfter: '2020-01-01T00:00:00Z' },
  ];
  for (const wanted of malformed)
    expect([wanted, (await boss('POST', '/v1/keys', wanted)).status]).toEqual([wanted, 400]);

  const made = (await as('limited')('POST', '/v1/keys', { scopes: ['tools'] })).body;
  expect(made).toMatchObject({ id: expect.stringMatching(/^key_[0-9a-f]{12}$/), tools: ['time__*'] });
  const names = (await as(made.key)('GET', '/v1/tools')).body.tools.map(({ name }: { name: string }) => name);
  expect(names).toEqual(['time__current_time']);
});

test('a key that ends makes no key that outlives it', async () => {
  const { as, statusWith } = await openKeys();
  const boss = as('boss-of-acme');
  const at = (ms: number) => new Date(Date.now() + ms).toISOString();
  const end = at(3_000);
  const short = (await boss('POST', '/v1/keys', { scopes: ['admin', 'threads'], notAfter: end })).body;
  expect(
    (await as(short.key)('POST', '/v1/keys', { scopes: ['threads'], notAfter: at(60_000) })).status,
  ).toBe(403);
  const child = (await as(short.key)('POST', '/v1/keys', { scopes: ['threads'] })).body;
  expect(child.notAfter).toBe(end);
  expect(await statusWith(child.key)).toBe(200);
  await expect.poll(() => statusWith(child.key), { timeout: 6_000 }).toBe(401);
});

test('an access token makes keys with its rights, which end with it', async () => {
  const server = await openAuthorizationServer();
  const { as } = await openKeys({ oauth: trusting(server) });
  const token = await server.sign({ tenant: 'acme', sub: 'mary', scope: 'admin threads' });
  const { status, body } = await as(token)('POST', '/v1/keys', { scopes: ['threads'] });
  expect([status, body.createdBy]).toEqual([201, 'oauth:mary']);
  expect(Date.parse(body.notAfter)).toBeGreaterThan(Date.now());
});

test('a key of another tenant is neither seen nor revoked; its id may be used again', async () => {
  const { as, statusWith } = await openKeys();
  const [acme, umbrella] = [as('boss-of-acme'), as('boss-of-umbrella')];
  const { key } = (await acme('POST', '/v1/keys', { id: 'ci', scopes: ['threads'] })).body;
  expect((await umbrella('DELETE', '/v1/keys/ci')).status).toBe(404);
  expect((await umbrella('GET', '/v1/keys')).body.keys.map(({ id }: ApiKey) => id)).toEqual(['other']);
  expect((await umbrella('POST', '/v1/keys', { id: 'ci', scopes: ['threads'] })).status).toBe(201);
  await umbrella('DELETE', '/v1/keys/ci');
  expect(await statusWith(key)).toBe(200);
});

test('an id is used once: in Redis, in the file and in the environment; configured keys are not revoked here', async () => {
  const { as } = await openKeys();
  const boss = as('boss-of-acme');
  expect((await boss('POST', '/v1/keys', { id: 'ci', scopes: ['threads'] })).status).toBe(201);
  for (const id of ['ci', 'boss', 'other']) {
    const { status, body } = await boss('POST', '/v1/keys', { id, scopes: ['threads'] });
    expect([id, status, body.error.code]).toEqual([id, 409, 'key_exists']);
  }
  const revoked = await boss('DELETE', '/v1/keys/boss');
  expect([revoked.status, revoked.body.error.details]).toEqual([409, { source: 'environment' }]);
  expect((await boss('DELETE', '/v1/keys/other')).status).toBe(404); // of another tenant
});

test('the keys of a tenant are bounded; one that has ended does not count', async () => {
  const { as, dispatch } = await openKeys();
  const boss = as('boss-of-acme');
  const make = async () => (await boss('POST', '/v1/keys', { scopes: ['threads'] })).status;
  const ended = { id: 'ended', tenant: 'acme', scopes: ['threads'], notAfter: '2020-01-01T00:00:00Z' };
  const made = { keySha256: '0'.repeat(64), createdAt: '2019-01-01T00:00:00Z', createdBy: 'boss' };
  await dispatch.issuedKeys.create({ ...ended, ...made });
  for (let i = 0; i < 100; i++) expect(await make()).toBe(201);
  expect(await make()).toBe(429);
});

test('a gateway without a configured key makes none: it would still serve callers without a key', async () => {
  const { call } = await openGateway();
  const { status, body } = await call('POST', '/v1/keys', { body: { scopes: ['threads'] } });
  expect([status, body.error.message]).toEqual([403, expect.stringContaining('HARNESS_API_KEY')]);
});
