import { type BusToolName, busTools } from '@harness/contracts';
import { builtInPlugins } from '@harness/plugins';
import { expect, test } from 'vitest';
import { bearer, type Gateway, keyFor, openGateway } from '../fixture.ts';
import { openReplicas } from '../open-replicas.ts';
import { readEvents } from '../read-events.ts';

const names = Object.keys(busTools) as BusToolName[];

/** Resolves when this many workers are polling. */
async function waiting({ call }: Gateway, workers: number): Promise<void> {
  for (;;) if ((await call('GET', '/v1/bus/status')).body.workersPolling === workers) return;
}

test('the tools and routes are those of the table, and old names are not listed', async () => {
  const { call } = await openGateway();
  const { tools } = (await call('GET', '/v1/tools')).body as {
    tools: { name: string; description: string }[];
  };
  const listed = tools.filter(({ name }) => name.startsWith('bus__'));
  expect(listed.map(({ name }) => name)).toEqual(names.map((name) => `bus__${name}`));
  expect(JSON.stringify(listed)).not.toMatch(/bead_id|worker_name|timeout_ms/);
  expect(listed.find(({ name }) => name === 'bus__register_worker')).toMatchObject({
    inputSchema: {
      properties: {
        name: {
          minLength: 1,
          pattern: '^[^\\s!-/:-@[-`{-~](.{0,62}\\S)?$',
          description: expect.stringMatching(/./),
        },
      },
      required: ['name'],
      additionalProperties: false,
    },
  });
  const yaml = (await call('GET', '/openapi.yaml')).body as string;
  for (const name of names) {
    const { path, title } = busTools[name];
    expect(yaml).toContain(`  ${path.replaceAll(/:(\w+)/g, '{$1}')}:`);
    expect(yaml).toContain(`summary: ${title}`);
  }
});

test('a task over REST: from one gateway to a worker that polls at another, and back', async () => {
  const [here, there] = await openReplicas(['a', 'b'], { more: builtInPlugins });
  await there.call('POST', '/v1/bus/workers', { body: { name: 'w', labels: ['gpu'] } });
  const polling = there.call('POST', '/v1/bus/workers/w/poll', { body: { timeoutMs: 20_000 } });
  await waiting(here, 1);
  const payload = { list: [1, { deep: [] }], text: 'ä' };
  const submitted = await here.call('POST', '/v1/bus/tasks', {
    body: {
      taskId: 'bd-1.2',
      payload,
      requires: ['gpu'],
    },
  });
  expect([submitted.status, submitted.body]).toMatchObject([
    201,
    { taskId: 'bd-1.2', state: 'assigned', existing: false },
  ]);
  expect((await here.call('POST', '/v1/bus/tasks', { body: { taskId: 'bd-1.2' } })).status).toBe(200);
  const { body: task } = await polling;
  expect(task).toMatchObject({
    taskId: 'bd-1.2',
    payload,
    attempt: 1,
    lease: expect.stringMatching(/^[0-9a-f]{32}$/),
  });

  const { lease } = task;
  expect(
    (await there.call('POST', '/v1/bus/tasks/bd-1.2/ack', { body: { name: 'w', lease } })).body,
  ).toMatchObject({
    state: 'in_progress',
  });
  expect(
    (await there.call('POST', '/v1/bus/tasks/bd-1.2/heartbeat', { body: { name: 'w', lease } })).status,
  ).toBe(200);
  expect((await here.call('GET', '/v1/bus/status')).body).toMatchObject({
    depth: 0,
    assigned: 0,
    inProgress: 1,
    oldestQueuedAt: null,
    workersPolling: 0,
    dead: 0,
    workerStates: [{ name: 'w', state: 'executing', taskId: 'bd-1.2' }],
  });
  expect(
    (await there.call('POST', '/v1/bus/tasks/bd-1.2/done', { body: { result: [true], lease } })).body,
  ).toMatchObject({ state: 'done' });
  expect((await here.call('GET', '/v1/bus/tasks/bd-1.2')).body).toMatchObject({
    state: 'done',
    payload,
    result: [true],
  });
  expect((await here.call('GET', '/v1/bus/tasks?state=done&limit=1')).body.tasks).toMatchObject([
    { taskId: 'bd-1.2' },
  ]);
  expect((await here.call('GET', '/v1/bus/tasks?state=dead')).body.tasks).toEqual([]);
  expect((await here.call('GET', '/v1/bus/workers')).body.workers).toMatchObject([
    { name: 'w', labels: ['gpu'], state: 'idle' },
  ]);
});

test('refusals have their status and name the state', async () => {
  const { call } = await openGateway();
  const refused = async (path: string, body: object) => {
    const answer = await call('POST', `/v1/bus/${path}`, { body });
    const { code, details } = answer.body.error;
    return [answer.status, code, details?.state];
  };
  expect(await refused('workers', {})).toEqual([422, 'invalid_tool_input', undefined]);
  expect(await refused('workers', { name: '-w' })).toEqual([422, 'invalid_tool_input', undefined]);
  expect(await refused('tasks', { taskId: 't', priority: 1001 })).toEqual([
    422,
    'invalid_tool_input',
    undefined,
  ]);
  expect(await refused('workers/w/poll', { timeoutMs: 0 })).toEqual([404, 'worker_not_found', undefined]);
  expect(await refused('tasks/t/done', {})).toEqual([404, 'task_not_found', undefined]);
  await call('POST', '/v1/bus/workers', { body: { name: 'w' } });
  await call('POST', '/v1/bus/tasks', { body: { taskId: 't' } });
  expect(await refused('tasks/t/done', {})).toEqual([409, 'wrong_state', 'queued']);
  const { lease } = (await call('POST', '/v1/bus/workers/w/poll', { body: {} })).body;
  await call('POST', '/v1/bus/tasks/t/ack', { body: { name: 'w' } });
  await call('POST', '/v1/bus/tasks/t/retry');
  expect(await refused('tasks/t/done', { lease })).toEqual([412, 'lease_lost', undefined]);
  await call('POST', '/v1/bus/workers/w/poll', { body: {} });
  expect(await refused('tasks/t/ack', { name: 'v' })).toEqual([412, 'lease_lost', undefined]);
  expect(await refused('tasks/t/done', {})).toEqual([428, 'lease_required', undefined]);
  const half = 'x'.repeat(200 * 1024);
  expect((await call('POST', '/v1/bus/tasks', { body: { taskId: 'large', payload: half } })).status).toBe(
    201,
  );
  const large = await call('POST', '/v1/bus/tasks', { body: { taskId: 'larger', payload: half + half } });
  expect([large.status, large.body.error.code]).toEqual([413, 'body_too_large']);
  const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) });
  await call('POST', '/v1/bus/tasks', { body: { taskId: 'deep', payload: nested(60), priority: 1 } });
  await call('POST', '/v1/bus/workers', { body: { name: 'diver' } });
  expect((await call('POST', '/v1/bus/workers/diver/poll', { body: {} })).body.payload).toEqual(nested(60));
  const deeper = await call('POST', '/v1/bus/tasks', { body: { taskId: 'deeper', payload: nested(61) } });
  expect([deeper.status, deeper.body.error.code]).toEqual([400, 'invalid_request']);
});

test('old names are accepted everywhere', async () => {
  const { call } = await openGateway();
  const use = async (tool: BusToolName, input: object) =>
    (await call('POST', `/v1/tools/bus__${tool}`, { body: { arguments: input } })).body.structuredContent;
  expect(await use('submit_task', { bead_id: 'bd-1' })).toMatchObject({ taskId: 'bd-1', state: 'queued' });
  await use('register_worker', { worker_name: 'w' });
  const { lease } = await use('poll_task', { worker_name: 'w', timeout_ms: 0 });
  expect(await use('ack_task', { worker_name: 'w', bead_id: 'bd-1', lease })).toMatchObject({
    state: 'in_progress',
  });
  expect(await use('reset_worker', { worker_name: 'w' })).toMatchObject({ name: 'w', before: 'executing' });
  expect((await call('POST', '/v1/bus/tasks', { body: { bead_id: 'bd-2' } })).status).toBe(201);
  expect((await call('POST', '/v1/bus/workers/w/poll', { body: { timeout_ms: 0 } })).body).toMatchObject({
    taskId: 'bd-1',
  });
});

test('an old worker is identified by name only: names with spaces, waits that are too long, repeated tasks', async () => {
  const { call } = await openGateway();
  const use = async (tool: BusToolName, input: object) => {
    const { status, body } = await call('POST', `/v1/tools/bus__${tool}`, { body: { arguments: input } });
    return status === 200 && !body.isError ? body.structuredContent : [status, JSON.stringify(body)];
  };
  const worker_name = 'Ada Lovelace (night)';
  await use('submit_task', { bead_id: 'bd-1' });
  expect(await use('register_worker', { worker_name })).toMatchObject({ name: worker_name });
  for (const attempt of [1, 2, 3]) {
    expect(await use('poll_task', { worker_name, timeout_ms: 9e9 })).toMatchObject({ attempt });
    expect(await use('ack_task', { worker_name, bead_id: 'bd-1' })).toMatchObject({ state: 'in_progress' });
    if (attempt < 3) await use('retry_task', { bead_id: 'bd-1' });
  }
  const done = { worker_name, bead_id: 'bd-1', result: { files: ['a'], ok: true } };
  expect(await use('worker_done', done)).toMatchObject({ state: 'done', existing: false });
  expect(await use('worker_done', done)).toMatchObject({ state: 'done', existing: true });
  const other = await call('POST', '/v1/bus/tasks/bd-1/done', {
    body: { name: worker_name, result: 'other' },
  });
  expect([other.status, other.body.error.code]).toEqual([409, 'result_conflict']);
  const named = `/v1/bus/workers/${encodeURIComponent(worker_name)}`;
  expect((await call('POST', `${named}/reset`)).body).toMatchObject({ name: worker_name, before: 'idle' });
  const { workers } = (await call('GET', '/v1/bus/workers')).body;
  expect(workers).toMatchObject([{ name: worker_name }]);
  const hidden = await call('POST', '/v1/bus/workers', { body: { name: 'Ada\u202e' } });
  expect([hidden.status, hidden.body.error.code]).toEqual([422, 'invalid_tool_input']);
});

test('a task for a client that disconnects from its poll is given back', async () => {
  const gateway = await openGateway();
  const { call } = gateway;
  for (const name of ['leaver', 'w']) await call('POST', '/v1/bus/workers', { body: { name } });
  const leave = new AbortController();
  const left = fetch(`${gateway.url}/v1/bus/workers/leaver/poll`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"timeoutMs":60000}',
    signal: leave.signal,
  });
  await waiting(gateway, 1);
  leave.abort();
  await expect(left).rejects.toThrow();
  await waiting(gateway, 0);
  await call('POST', '/v1/bus/tasks', { body: { taskId: 't' } });
  expect((await call('POST', '/v1/bus/workers/w/poll', { body: { timeoutMs: 0 } })).body).toMatchObject({
    taskId: 't',
    attempt: 1,
  });
});

test('a gateway that closes ends its polls, and clients poll elsewhere', async () => {
  const gateway = await openGateway();
  await gateway.call('POST', '/v1/bus/workers', { body: { name: 'w' } });
  const polling = gateway.call('POST', '/v1/bus/workers/w/poll', { body: { timeoutMs: 60_000 } });
  await waiting(gateway, 1);
  await gateway.app.close();
  expect((await polling).body).toMatchObject({ taskId: null });
});

test('bus events are an event stream with replay, limited to the tenant', async () => {
  const keys = ['acme', 'umbrella'].map((tenant) => keyFor(`key-of-${tenant}`, { tenant, scopes: ['bus'] }));
  const { call, url } = await openGateway({ keys });
  const acme = bearer('key-of-acme');
  await call('POST', '/v1/bus/tasks', { body: { taskId: 'theirs' }, headers: bearer('key-of-umbrella') });
  await call('POST', '/v1/bus/tasks', { body: { taskId: 't', priority: 7 }, headers: acme });
  await call('POST', '/v1/bus/workers', { body: { name: 'w' }, headers: acme });
  const replayed = await readEvents(`${url}/v1/bus/events?follow=true`, {
    headers: acme,
    until: ({ type }) => type === 'stream.replayed',
  });
  expect(replayed.map(({ type }) => type)).toEqual([
    'bus.task_queued',
    'bus.worker_registered',
    'stream.replayed',
  ]);
  expect(replayed[0]?.data).toMatchObject({ taskId: 't', priority: 7, reason: 'submitted' });
  const after = replayed[1]?.id as string;
  await call('POST', '/v1/bus/workers/w/poll', { body: { timeoutMs: 0 }, headers: acme });
  const rest = await call('GET', `/v1/bus/events?after=${after}`, {
    headers: {
      ...acme,
      accept: 'application/json',
    },
  });
  expect(rest.body.events).toMatchObject([
    { type: 'bus.task_assigned', data: { taskId: 't', worker: 'w', attempt: 1 } },
  ]);
});

test('a key sees the bus tools by its scopes: bus or tools for MCP, bus for REST', async () => {
  const keys = [
    keyFor('key-of-both', { scopes: ['bus', 'tools'] }),
    keyFor('key-of-tools', { scopes: ['tools'] }),
    keyFor('key-of-bus', { scopes: ['bus'] }),
    keyFor('key-of-one-tool', { scopes: ['bus'], tools: ['bus__get_status'] }),
  ];
  const { call } = await openGateway({ keys });
  const seen = async (key: string) =>
    ((await call('GET', '/v1/tools', { headers: bearer(key) })).body.tools as { name: string }[]).filter(
      ({ name }) => name.startsWith('bus__'),
    ).length;
  expect([await seen('key-of-both'), await seen('key-of-tools')]).toEqual([10, 0]);
  expect((await call('GET', '/v1/bus/status', { headers: bearer('key-of-bus') })).status).toBe(200);
  expect((await call('GET', '/v1/bus/status', { headers: bearer('key-of-one-tool') })).status).toBe(200);
  const submitted = await call('POST', '/v1/bus/tasks', {
    body: { taskId: 't' },
    headers: bearer('key-of-one-tool'),
  });
  expect([submitted.status, submitted.body.error.code]).toEqual([403, 'forbidden']);
});

test('/metrics counts the tasks and workers of all tenants', async () => {
  const tenants = ['acme', 'umbrella'];
  const keys = [...tenants.map((tenant) => keyFor(tenant, { tenant, scopes: ['bus'] })), keyFor('operator')];
  const { call } = await openGateway({ keys });
  for (const tenant of tenants) {
    await call('POST', '/v1/bus/workers', { body: { name: 'w' }, headers: bearer(tenant) });
    for (const taskId of ['a', 'b', 'c'])
      await call('POST', '/v1/bus/tasks', { body: { taskId }, headers: bearer(tenant) });
  }
  await call('POST', '/v1/bus/workers/w/poll', { body: {}, headers: bearer('acme') });
  const metrics = (await call('GET', '/metrics', { headers: bearer('operator') })).body as string;
  expect(metrics.match(/^harness_bus_.*/gm)).toEqual([
    'harness_bus_tasks{state="queued"} 5',
    'harness_bus_tasks{state="assigned"} 1',
    'harness_bus_tasks{state="in_progress"} 0',
    'harness_bus_tasks{state="blocked"} 0',
    'harness_bus_tasks{state="dead"} 0',
    'harness_bus_workers 2',
    'harness_bus_workers_polling 0',
  ]);
});
