import { createHash, randomUUID } from 'node:crypto';
import { builtInPlugins } from '@harness/plugins';
import { onTestFinished } from 'vitest';
import { openAuthorizationServer, trusting } from './authorization-server.ts';
import { createCounter } from './counter.ts';
import { bearer, connectTestRedis, type Gateway, keyFor, openFakeWorker, openGateway } from './fixture.ts';
import { fileOf } from './published-servers.ts';

/** The public routes; all others need a credential. */
export const publicUrls = [
  '/healthz',
  '/readyz',
  '/openapi.yaml',
  '/docs',
  '/docs/',
  '/docs/json',
  '/docs/yaml',
  '/docs/static/index.html',
  '/docs/static/swagger-initializer.js',
  '/docs/static/*',
  '/console',
  '/console/*',
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/mcp',
];

export interface House {
  gateway: Gateway;
  ids: Record<string, string>;
  /** Sends a request that succeeds with a valid credential. */
  send(route: { method: string; url: string }, credential: string | undefined): Promise<Sent>;
  /** All that was stored, published or counted so far; equal before and after a request without effects. */
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
export async function openHouse(): Promise<House> {
  const counter = createCounter();
  const tag = randomUUID();
  const server = await openAuthorizationServer();
  const gateway = await openGateway({
    tag,
    plugins: [counter.plugin, ...builtInPlugins.filter(({ name }) => name === 'bus')],
    oauth: trusting(server),
    keys: [
      keyFor('key-of-acme', { tenant: 'acme' }),
      keyFor('key-of-umbrella', { tenant: 'umbrella', scopes: ['threads', 'tools', 'tasks', 'bus'] }),
      keyFor('key-for-metrics', { tenant: 'acme', scopes: ['metrics'] }),
      keyFor('key-of-the-bus', { tenant: 'acme', scopes: ['bus'] }),
      keyFor('key-without-tools', { tenant: 'acme', scopes: ['threads', 'tasks', 'admin'] }),
      keyFor('key-without-bus', { tenant: 'acme', scopes: ['threads', 'tools', 'tasks', 'admin'] }),
    ],
    waitLimitMs: 100,
    upstreams: fileOf({ someone: { command: 'true', disabled: true } }),
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

  // On the bus: a waiting task with the delegated task's id, and one that a worker has; fields as in the tool.
  const name = 'counter__count';
  await dispatch.bus.register({ tenant: 'acme', name });
  await dispatch.bus.submit({ tenant: 'acme', taskId: 'failing' });
  const failing = await dispatch.bus.poll({ tenant: 'acme', name, timeoutMs: 0 });
  await dispatch.bus.ack({ tenant: 'acme', name, taskId: 'failing' });
  await dispatch.bus.submit({ tenant: 'acme', taskId: task.taskId });
  const onBus = (await dispatch.bus.tasks('acme', { limit: 9, offset: 0 })).map(({ taskId }) => taskId);
  if (!failing || onBus.length !== 2) throw new Error('the bus is not as it should be');

  const withFiles = (await dispatch.threads.create('acme', {})).thread.threadId;
  const written = await fetch(`${gateway.url}/v1/threads/${withFiles}/files/x`, {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream', ...bearer('key-of-acme') },
    body: 'x',
  });
  if (!written.ok) throw new Error('the file is not written');

  const key = { keySha256: '0'.repeat(64), scopes: ['threads'], createdAt: '', createdBy: 'x' };
  await dispatch.issuedKeys.create({ id: 'made', tenant: 'acme', ...key });
  const ids = {
    id: 'made',
    questionId: await dispatch.questions.open({ tenant: 'acme', threadId }),
    threadId,
    runId: run.runId,
    taskId: task.taskId,
    workerId,
    name,
    workerName: name,
    plugin: 'counter',
    upstream: 'someone',
  };
  /** Routes that need another bus task. */
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
    'POST /v1/threads/:threadId/fork': {},
    'POST /v1/threads/:threadId/commands': { command: '/model small' },
    'POST /v1/threads/:threadId/questions/:questionId': { action: 'decline' },
    'POST /v1/stream-tickets': { path: `/v1/threads/${threadId}/events` },
    'POST /v1/keys': { scopes: ['threads'] },
    'POST /v1/tasks': { prompt: 'x', parentThreadId: threadId },
    'POST /v1/tools/:name': { threadId },
    'PATCH /v1/plugins/:plugin': { enabled: true },
    'PATCH /v1/upstreams/:upstream': { enabled: true },
    'POST /api/prewarm': { threadId },
    'POST /mcp': {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'counter__count', _meta: { 'harness/threadId': threadId } },
    },
  };
  /** Bodies that are not JSON. */
  const uploads: Record<string, { type: string; body: string }> = {
    'PUT /v1/threads/:threadId/files/*': { type: 'application/octet-stream', body: 'y' },
    'PUT /v1/threads/:threadId/files': { type: 'application/x-tar', body: '\0'.repeat(1024) },
  };
  /** Routes of files need a thread that is not in a turn. */
  const threadOf = (url: string) =>
    /:threadId\/(files|diff)/.test(url) ? url.replace(':threadId', withFiles) : url;
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
      const path = threadOf(url.replace('/files/*', '/files/x')).replaceAll(
        /:(\w+)/g,
        (_, param: string) => elsewhere[url] ?? ids[param as keyof typeof ids] ?? 'x',
      );
      const made = bodies[`${method} ${url}`];
      const body = typeof made === 'function' ? await made() : made;
      const upload = uploads[`${method} ${url}`];
      const leave = new AbortController();
      onTestFinished(() => leave.abort()); // only the beginning of a stream is needed
      const response = await fetch(gateway.url + path, {
        method,
        signal: leave.signal,
        headers: {
          accept: 'application/json, text/event-stream',
          ...(body && { 'content-type': 'application/json' }),
          ...(upload && { 'content-type': upload.type }),
          ...(credential === undefined ? {} : bearer(credential)),
        },
        ...(body && { body: JSON.stringify(body) }),
        ...(upload && { body: upload.body }),
      });
      const endless = response.ok && /(stream|events)$/.test(url);
      return { status: response.status, text: endless ? '' : await response.text() };
    },
    async state() {
      // When the marker has arrived, everything published before it has arrived, too.
      const marked = new Promise<void>((resolve) => marks.push(resolve));
      await redis.publish(`{${tag}}:marker`, '');
      await marked;
      // A request is counted, and a refusal leaves a record in the audit.
      const isEffect = (name: string) => !/:(rate|audit\w*|gws)(:|$)/.test(name);
      const names = (await redis.keys(`{${tag}}:*`)).filter(isEffect).sort();
      const dumps = await Promise.all(names.map((name) => redis.dumpBuffer(name)));
      const stored = names.map(
        (name, at) =>
          `${name} ${createHash('sha256')
            .update(String(dumps[at]?.toString('hex')))
            .digest('hex')}`,
      );
      return { ran: counter.ran(), published: [...published], stored };
    },
  };
}
