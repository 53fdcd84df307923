import { createHash, randomUUID } from 'node:crypto';
import { signThreadToken } from '@harness/contracts';
import { definePlugin } from '@harness/plugin-kit';
import { builtInPlugins } from '@harness/plugins';
import { SignJWT } from 'jose';
import { expect, onTestFinished, test } from 'vitest';
import { openAuthorizationServer, trusting } from '../authorization-server.ts';
import {
  bearer,
  connectTestRedis,
  type Gateway,
  keyFor,
  openFakeWorker,
  openGateway,
  tokenSecret,
} from '../fixture.ts';

/** What anybody may see. A route that is not here asks who calls. */
const publicUrls = [
  '/healthz',
  '/readyz',
  '/openapi.yaml',
  '/docs',
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/mcp',
];

test('every registered route is public by name, or answers 401 without a token', async () => {
  const gateway = await openGateway({ keys: [keyFor('some-key')] });
  expect(gateway.routes.length).toBeGreaterThan(30);
  expect(publicUrls.filter((url) => !gateway.routes.some((route) => route.url === url))).toEqual([]);
  for (const { method, url } of gateway.routes) {
    const { status } = await gateway.call(method, url.replaceAll(/:\w+/g, 'x'));
    expect([method, url, status === 401]).toEqual([method, url, !publicUrls.includes(url)]);
  }
  expect((await gateway.call('GET', '/nothing/here')).status).toBe(401);
});

interface House {
  gateway: Gateway;
  ids: Record<string, string>;
  /** Sends the request that would work if the credential did. */
  send(route: { method: string; url: string }, credential: string | undefined): Promise<Sent>;
  /** Everything that is stored, published or counted so far; equal when nothing happened. */
  state(): Promise<object>;
  guarded: { method: string; url: string }[];
  epoch: number;
  issue: Awaited<ReturnType<typeof openAuthorizationServer>>['sign'];
}
interface Sent {
  status: number;
  text: string;
}

/** A gateway with a thread in mid-turn, a run, a task and a worker of tenant acme. */
async function openHouse(): Promise<House> {
  let ran = 0;
  const counter = definePlugin({
    name: 'counter',
    version: '1.0.0',
    tools: [{ name: 'count', description: 'Counts', schema: {}, handler: () => `${++ran}` }],
    register: () => ({}),
  });
  const tag = randomUUID();
  const server = await openAuthorizationServer();
  const gateway = await openGateway({
    tag,
    plugins: [counter, ...builtInPlugins.filter(({ name }) => name === 'bus')],
    oauth: trusting(server),
    keys: [
      keyFor('key-of-acme', { tenant: 'acme' }),
      keyFor('key-of-umbrella', { tenant: 'umbrella', scopes: ['threads', 'tools', 'tasks', 'bus'] }),
      keyFor('key-of-the-bus', { tenant: 'acme', scopes: ['bus'] }),
      keyFor('key-without-tools', { tenant: 'acme', scopes: ['threads', 'tasks', 'admin'] }),
      keyFor('key-without-bus', { tenant: 'acme', scopes: ['threads', 'tools', 'tasks', 'admin'] }),
    ],
    waitLimitMs: 100,
  });
  const redis = connectTestRedis();
  const { dispatch } = gateway;
  const { threadId } = (await dispatch.threads.create('acme', {})).thread;
  const append = { tenant: 'acme', threadId, request: { input: 'x' }, idempotencyKey: 'k' };
  const { run } = await dispatch.runs.append(append);
  const { task } = await dispatch.tasks.create({ tenant: 'acme', prompt: 'x' });
  const worker = await openFakeWorker(dispatch, redis);
  const { hold } = await worker.begin(threadId);
  const { workerId } = worker;
  const report = { pid: 1, startedAt: '', draining: false, maxSessions: 1, sessions: 0, busy: 0, spares: 0 };
  const counters = {
    turns: 0,
    paths: { warm: 0, spare: 0, resume: 0, cold: 0 },
    evicted: 0,
    transcriptErrors: 0,
    rssBytes: 0,
  };
  await dispatch.workers.report(workerId, { ...report, ...counters }, 60_000);

  // On the bus: a task that waits, of the delegated one's id, and one that a worker has; the names are the tool's.
  const name = 'counter__count';
  await dispatch.bus.register({ tenant: 'acme', name });
  await dispatch.bus.submit({ tenant: 'acme', taskId: 'failing' });
  const failing = await dispatch.bus.poll({ tenant: 'acme', name, timeoutMs: 0 });
  await dispatch.bus.ack({ tenant: 'acme', name, taskId: 'failing' });
  await dispatch.bus.submit({ tenant: 'acme', taskId: task.taskId });
  const onBus = (await dispatch.bus.tasks('acme', { limit: 9, offset: 0 })).map(({ taskId }) => taskId);
  if (!failing || onBus.length !== 2) throw new Error('the bus is not as it should be');

  const ids = {
    threadId,
    runId: run.runId,
    taskId: task.taskId,
    workerId,
    name,
    workerName: name,
    plugin: 'counter',
  };
  /** Where a route wants another task of the bus. */
  const elsewhere: Record<string, string> = {
    '/v1/bus/tasks/:taskId/failed': 'failing',
    '/v1/bus/tasks/:taskId/retry': 'failing',
  };
  const leaseOf = (taskId: string) => redis.hget(dispatch.keys.of('bt', `acme:${taskId}`), 'lease');
  const bodies: Record<string, object | (() => Promise<object>)> = {
    'POST /v1/bus/tasks': { taskId: task.taskId },
    'POST /v1/bus/workers': { name },
    'POST /v1/bus/workers/:name/poll': { timeoutMs: 0 },
    'POST /v1/bus/tasks/:taskId/ack': { name },
    'POST /v1/bus/tasks/:taskId/heartbeat': async () => ({
      name,
      lease: (await leaseOf(task.taskId)) ?? 'x',
    }),
    'POST /v1/bus/tasks/:taskId/done': { result: 'x' },
    'POST /v1/bus/tasks/:taskId/failed': { reason: 'x' },
    'POST /v1/threads': { threadId, ifExists: 'doNothing' },
    'PATCH /v1/threads/:threadId': { metadata: { changed: true } },
    'POST /v1/threads/:threadId/runs': { input: 'x' },
    'POST /v1/threads/:threadId/runs/wait': { input: 'x' },
    'POST /v1/threads/:threadId/runs/stream': { input: 'x' },
    'POST /v1/threads/:threadId/commands': { command: '/model small' },
    'POST /v1/tasks': { prompt: 'x', parentThreadId: threadId },
    'POST /v1/tools/:name': { threadId },
    'PATCH /v1/plugins/:plugin': { enabled: true },
    'POST /api/prewarm': { threadId },
    'POST /mcp': {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'counter__count', _meta: { 'harness/threadId': threadId } },
    },
  };
  const published: string[] = [];
  const marks: (() => void)[] = [];
  const listener = connectTestRedis();
  await listener.psubscribe(`{${tag}}:*`);
  listener.on('pmessage', (_pattern, channel: string, message: string) => {
    if (channel.endsWith(':marker')) marks.shift()?.();
    else published.push(`${channel} ${message}`);
  });

  return {
    gateway,
    ids,
    epoch: hold.epoch,
    issue: server.sign,
    guarded: gateway.routes.filter(({ url }) => !publicUrls.includes(url)),
    async send({ method, url }, credential) {
      const path = url.replaceAll(
        /:(\w+)/g,
        (_, param: string) => elsewhere[url] ?? ids[param as keyof typeof ids] ?? 'x',
      );
      const made = bodies[`${method} ${url}`];
      const body = typeof made === 'function' ? await made() : made;
      const leave = new AbortController();
      onTestFinished(() => leave.abort()); // of streams only the first words are wanted
      const response = await fetch(gateway.url + path, {
        method,
        signal: leave.signal,
        headers: {
          accept: 'application/json, text/event-stream',
          ...(body && { 'content-type': 'application/json' }),
          ...(credential === undefined ? {} : bearer(credential)),
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      const endless = response.ok && /(stream|events)$/.test(url);
      return { status: response.status, text: endless ? '' : await response.text() };
    },
    async state() {
      // What was published before the marker has arrived when the marker has.
      const marked = new Promise<void>((resolve) => marks.push(resolve));
      await redis.publish(`{${tag}}:marker`, '');
      await marked;
      const names = (await redis.keys(`{${tag}}:*`)).sort();
      const dumps = await Promise.all(names.map((name) => redis.dumpBuffer(name)));
      const stored = names.map(
        (name, at) =>
          `${name} ${createHash('sha256')
            .update(String(dumps[at]?.toString('hex')))
            .digest('hex')}`,
      );
      return { ran, published: [...published], stored };
    },
  };
}

/** What /mcp says to a client that has not begun a session, where it needs one. */
const withoutSession = ({ method, url }: { method: string; url: string }) =>
  url === '/mcp' ? { GET: 405, HEAD: 405, DELETE: 400 }[method] : undefined;

test('the requests of this file work with a good key: what refuses them below is the credential', async () => {
  const { guarded, send, state } = await openHouse();
  const before = await state();
  // A worker has one task at a time: it gives up its first before it polls for the next.
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
/** A thread token as contracts make them, but for what is told. */
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

test.each(Object.entries(strangers))('%s opens no door, and nothing happens', async (_what, credentialOf) => {
  const house = await openHouse();
  const credential = await credentialOf(house);
  const before = await house.state();
  for (const route of house.guarded) {
    expect([route, (await house.send(route, credential)).status]).toEqual([route, 401]);
  }
  expect(await house.state()).toEqual(before);
});

test('a thread token opens /mcp alone, and a stale one nothing', async () => {
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

/** One that has not what the route asks for. */
function keyWithout({ url }: { url: string }): string {
  if (url.startsWith('/v1/bus/')) return 'key-without-bus';
  return url === '/mcp' ? 'key-without-tools' : 'key-of-the-bus';
}

test('a key without the scope is 403 everywhere', async () => {
  const { guarded, send, state } = await openHouse();
  const before = await state();
  for (const route of guarded) {
    const { status } = await send(route, keyWithout(route));
    expect([route, status]).toEqual([route, 403]);
  }
  expect(await state()).toEqual(before);
});

/** Where a key is answered with what is its own tenant's, or everybody's. */
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
];

/** What makes something of one's own tenant, whoever else has the same. */
const makesOwn = ({ method, url }: { method: string; url: string }) =>
  method === 'POST' && (url === '/v1/bus/tasks' || url === '/v1/bus/workers');

test.each(['a key', 'an access token'])('%s of another tenant finds nothing of ours', async (kind) => {
  const { guarded, send, state, ids, issue } = await openHouse();
  const access = await issue({ tenant: 'umbrella', scope: 'threads tools tasks bus' });
  const credential = kind === 'a key' ? 'key-of-umbrella' : access;
  const before = await state();
  for (const route of guarded.filter((one) => !makesOwn(one))) {
    const { status, text } = await send(route, credential);
    const reads = route.method === 'GET' || route.method === 'HEAD';
    let expected = 404;
    if (reads && ownThings.includes(route.url)) expected = 200;
    if (route.url === '/mcp') expected = withoutSession(route) ?? 200; // the refusal is in the JSON-RPC answer
    if (route.url === '/v1/threads' && !reads) expected = 409; // the id is taken, and no more is said
    const isAdmins = route.url.startsWith('/v1/workers') || route.url === '/v1/plugins/:plugin';
    if (isAdmins || route.url === '/metrics') expected = 403;
    expect([route, status]).toEqual([route, expected]);
    if (route.url === '/mcp' && route.method === 'POST') expect(text).toContain('There is no thread');
    for (const id of [ids.runId, ids.taskId, ids.workerId]) expect(text).not.toContain(`"${id}"`);
  }
  expect(await state()).toEqual(before);
});
