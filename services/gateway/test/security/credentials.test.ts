import { signThreadToken } from '@harness/contracts';
import { SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { keyFor, openGateway, tokenSecret } from '../fixture.ts';
import { type House, openHouse, publicUrls } from '../house.ts';

test('every registered route is listed as public, or responds 401 without a token', async () => {
  const gateway = await openGateway({ keys: [keyFor('some-key')] });
  expect(gateway.routes.length).toBeGreaterThan(30);
  expect(publicUrls.filter((url) => !gateway.routes.some((route) => route.url === url))).toEqual([]);
  for (const { method, url } of gateway.routes) {
    const { status } = await gateway.call(method, url.replaceAll(/:\w+/g, 'x'));
    expect([method, url, status === 401]).toEqual([method, url, !publicUrls.includes(url)]);
  }
  expect((await gateway.call('GET', '/nothing/here')).status).toBe(401);
});

/** The status of /mcp where the client has no session but needs one. */
const withoutSession = ({ method, url }: { method: string; url: string }) =>
  url === '/mcp' ? { GET: 405, HEAD: 405, DELETE: 400 }[method] : undefined;

test('the requests of this file succeed with a valid key, so only the credential causes the refusals below', async () => {
  const { guarded, send, state } = await openHouse();
  const before = await state();
  // A worker has one task at a time: it fails the first before it polls for the next.
  const first = (route: { url: string }) => Number(/bus.*\/failed$/.test(route.url)) * -1;
  const last = (route: { method: string; url: string }) => Number(route.method === 'DELETE') + first(route);
  for (const route of guarded.toSorted((one, other) => last(one) - last(other))) {
    const { status } = await send(route, 'key-of-acme');
    const wanted = withoutSession(route);
    expect([route, wanted ? status === wanted : status < 300]).toEqual([route, true]);
  }
  expect(await state()).not.toEqual(before);
  expect(await state()).toMatchObject({ ran: 2 });
});

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;
const secret = new TextEncoder().encode(tokenSecret);
/** A thread token as contracts create it, with these changes. */
const threadToken = ({ ids, epoch }: House, claims: object, audience = 'harness/mcp') =>
  new SignJWT({ tenant: 'acme', epoch, sub: ids.threadId as string, exp: inSeconds(60), ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .setAudience(audience)
    .sign(secret);

const strangers: Record<string, (house: House) => Promise<string | undefined>> = {
  'no token': async () => undefined,
  garbage: async () => 'garbage',
  'an expired access token': ({ issue }) => issue({ exp: inSeconds(-60) }),
  'an access token for another audience': ({ issue }) => issue({ aud: 'https://other.test' }),
  'an expired thread token': (house) => threadToken(house, { exp: inSeconds(-60) }),
  'a thread token for another audience': (house) => threadToken(house, {}, 'harness/other'),
  'a thread token of another secret': ({ ids, epoch }) =>
    signThreadToken({ threadId: ids.threadId as string, tenant: 'acme', epoch }, 'another secret, as long'),
};

test.each(Object.entries(strangers))(
  '%s is refused at every endpoint, without effects',
  async (_what, credentialOf) => {
    const house = await openHouse();
    const credential = await credentialOf(house);
    const before = await house.state();
    for (const route of house.guarded) {
      expect([route, (await house.send(route, credential)).status]).toEqual([route, 401]);
    }
    expect(await house.state()).toEqual(before);
  },
);

test('a thread token is accepted at /mcp only, and a stale one nowhere', async () => {
  const house = await openHouse();
  const live = await threadToken(house, {});
  const stale = await threadToken(house, { epoch: house.epoch - 1 });
  const before = await house.state();
  for (const route of house.guarded) {
    const mcp = route.url === '/mcp' ? 409 : 401;
    expect([route, (await house.send(route, stale)).status]).toEqual([route, mcp]);
    if (route.url !== '/mcp') expect([route, (await house.send(route, live)).status]).toEqual([route, 401]);
  }
  expect(await house.state()).toEqual(before);
  const { status, text } = await house.send({ method: 'POST', url: '/mcp' }, live);
  expect([status, text]).toEqual([200, expect.stringContaining('"text":"1"')]);
});

/** A key without the scope of the route. */
function keyWithout({ url }: { url: string }): string {
  if (url.startsWith('/v1/bus/')) return 'key-without-bus';
  return url === '/mcp' ? 'key-without-tools' : 'key-of-the-bus';
}

test('a key without the scope is 403 everywhere', async () => {
  const { guarded, send, state } = await openHouse();
  const before = await state();
  // Any scope is enough to sign in at the console, which shows what the scopes allow.
  for (const route of guarded.filter(({ url }) => url !== '/v1/console-session')) {
    const { status } = await send(route, keyWithout(route));
    expect([route, status]).toEqual([route, 403]);
  }
  expect(await state()).toEqual(before);
});

/** Routes that return only the caller's own tenant's data, or data that is the same for all. */
const ownThings = [
  '/v1/threads',
  '/v1/tasks',
  '/v1/tools',
  '/v1/tools/:name',
  '/v1/plugins',
  '/v1/skills',
  '/v1/agents',
  '/v1/commands',
  '/v1/bus/status',
  '/v1/bus/tasks',
  '/v1/bus/workers',
  '/v1/bus/events',
  '/v1/console-session',
];

/** Routes that create something in the caller's own tenant, even if another tenant has the same name. */
const makesOwn = ({ method, url }: { method: string; url: string }) =>
  method === 'POST' &&
  [
    '/v1/bus/tasks',
    '/v1/bus/workers',
    '/v1/threads',
    '/api/prewarm',
    '/v1/stream-tickets',
    '/v1/console-session',
  ].includes(url);

test.each(['a key', 'an access token'])('%s of another tenant finds nothing of this tenant', async (kind) => {
  const { guarded, send, state, ids, issue } = await openHouse();
  const access = await issue({ tenant: 'umbrella', scope: 'threads tools tasks bus' });
  const credential = kind === 'a key' ? 'key-of-umbrella' : access;
  const before = await state();
  for (const route of guarded.filter((one) => !makesOwn(one))) {
    const { status, text } = await send(route, credential);
    const reads = route.method === 'GET' || route.method === 'HEAD';
    let expected = 404;
    if (reads && ownThings.includes(route.url)) expected = 200;
    if (route.method === 'DELETE' && route.url === '/v1/console-session') expected = 204; // its own, if any
    if (route.url === '/mcp') expected = withoutSession(route) ?? 200; // the refusal is in the JSON-RPC response
    const isAdmins =
      /^\/v1\/(workers|keys|audit|figures|promises|upstreams|tool-lock)/.test(route.url) ||
      route.url === '/v1/plugins/:plugin';
    if (isAdmins || route.url === '/metrics') expected = 403;
    expect([route, status]).toEqual([route, expected]);
    if (route.url === '/mcp' && route.method === 'POST') expect(text).toContain('There is no thread');
    for (const id of [ids.runId, ids.taskId, ids.workerId]) expect(text).not.toContain(`"${id}"`);
  }
  expect(await state()).toEqual(before);
});
