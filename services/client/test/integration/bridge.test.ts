import { freePort } from '@harness/runtime';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, onTestFinished, test } from 'vitest';
import { apiKey, bridgeEnv, bridgeMain, openBridge, openHouse, shareHouse } from '../bridge-fixture.ts';

/** For tests that start processes more than once. */
const inTime = { timeout: 90_000 };

const sharedHouse = shareHouse();

/** What the gateway itself returns to a client of the same protocol. */
async function listOf(url: string): Promise<{ name: string }[]> {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
  return ((await response.json()) as { result: { tools: { name: string }[] } }).result.tools;
}

test('every field of every tool is passed unchanged', async () => {
  const { url } = await sharedHouse();
  const wanted = await listOf(url);
  expect(wanted.length).toBeGreaterThan(12);

  const all = openBridge(url);
  expect((await all.initialize()).result).toMatchObject({
    serverInfo: { name: 'harness' },
    capabilities: { tools: { listChanged: true }, resources: {} },
  });
  expect(JSON.stringify((await all.ask('tools/list')).result.tools)).toBe(JSON.stringify(wanted));

  const bus = wanted.filter(({ name }) => name.startsWith('bus__'));
  const one = openBridge(url, ['--plugin', 'bus']);
  expect(Object.keys((await one.initialize()).result.capabilities)).toEqual(['tools', 'logging']);
  expect((await one.ask('tools/list')).result.tools).toEqual(bus);
  expect((await one.use('time__current_time')).error.message).toContain('is not offered by this bridge');
  expect((await one.ask('resources/list')).error.code).toBe(-32601);

  const bare = openBridge(url, ['--plugin', 'bus', '--bare']);
  await bare.initialize('2025-06-18');
  const { tools } = (await bare.ask('tools/list')).result;
  expect(tools).toEqual(bus.map((tool) => ({ ...tool, name: tool.name.slice('bus__'.length) })));
  expect(tools.map(({ name }: { name: string }) => name)).toContain('register_worker');
  for (const { notJson } of [all, one, bare]) expect(notJson).toEqual([]);
});

test.each(['2025', 'auto'])('a client of the SDK (%s) registers as a worker and does a task', async (era) => {
  const { url, call } = await sharedHouse();
  const [name, id] = [`worker-${era}`, `task-${era}`];
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [bridgeMain, '--plugin', 'bus', '--bare'],
    env: bridgeEnv(url),
    stderr: 'ignore',
  });
  const client = new Client(
    { name: 'worker', version: '1' },
    era === 'auto' ? { versionNegotiation: { mode: 'auto' } } : {},
  );
  await client.connect(transport);
  onTestFinished(() => client.close());
  const use = async (name: string, input: object) => {
    const { structuredContent, isError } = await client.callTool({ name, arguments: { ...input } });
    expect(isError).toBeFalsy();
    return structuredContent as Record<string, unknown>;
  };
  await use('register_worker', { name });
  const polling = use('poll_task', { name });
  await call('POST', '/v1/bus/tasks', { taskId: id, payload: { say: 'hello' } });
  const { taskId, lease, payload } = await polling;
  expect(payload).toEqual({ say: 'hello' });
  await use('ack_task', { name, taskId, lease });
  await use('worker_done', { taskId, lease, result: 'hello!' });
  expect(await call('GET', `/v1/bus/tasks/${id}`)).toMatchObject({
    state: 'done',
    worker: name,
    result: 'hello!',
  });
});

test('progress, cancellation, changes of the list and errors are forwarded', async () => {
  const { url, call } = await sharedHouse();
  const bridge = openBridge(url);
  await bridge.initialize();
  const running = async () => (await bridge.use('slow__running')).result.content[0].text;

  const params = { name: 'slow__endless', arguments: { key: 'k' }, _meta: { progressToken: 'token' } };
  const { id, answer } = bridge.begin('tools/call', params);
  let answered = false;
  void answer.then(() => {
    answered = true;
  });
  await bridge.notified('notifications/progress');
  expect(bridge.received.find(({ method }) => method === 'notifications/progress')?.params).toEqual({
    progressToken: 'token',
    progress: 1,
    total: 2,
    message: 'k',
  });
  expect(await running()).toBe('k');
  bridge.write({ method: 'notifications/cancelled', params: { requestId: id } });
  await expect.poll(running).toBe('');
  expect(answered).toBe(false);

  const notified = bridge.notified('notifications/tools/list_changed');
  await call('PATCH', '/v1/plugins/time', { enabled: false });
  await notified;
  expect((await bridge.use('time__current_time')).error).toMatchObject({ code: -32602 });
  const wrong = await bridge.use('bus__register_worker', { name: '-' });
  expect(wrong.result).toMatchObject({
    isError: true,
    _meta: { 'harness/error': { code: 'invalid_tool_input' } },
  });
  expect((await bridge.ask('no/such')).error.code).toBe(-32601);
});

test(
  'a gateway that is unreachable for a time: the bridge reports it, continues, and notifies of possible changes',
  inTime,
  async () => {
    const house = await openHouse();
    const bridge = openBridge(house.url);
    await bridge.initialize();
    await bridge.use('bus__register_worker', { name: 'w' });
    await bridge.ask('tools/list');
    const polling = bridge.use('bus__poll_task', { name: 'w', timeoutMs: 60_000 });
    const endless = bridge.use('slow__endless', { key: 'k' });
    await expect
      .poll(async () => (await bridge.use('bus__get_status')).result.structuredContent.workersPolling)
      .toBe(1);
    await expect.poll(async () => (await bridge.use('slow__running')).result.content[0].text).toBe('k');
    house.gateway().process.kill('SIGKILL');
    await house.gateway().exited;
    await bridge.untilLogged('does not respond');
    // A call that must not run twice is not repeated; its error states that the outcome is unknown.
    expect((await endless).error.message).toContain('whether the call took effect is unknown');
    const asked = bridge.use('bus__get_status');
    await house.startGateway();
    expect((await asked).result.structuredContent).toMatchObject({ workers: 1 });
    expect(bridge.logged()).toContain('the gateway responds again');
    await bridge.notified('notifications/tools/list_changed');
    await house.call('POST', '/v1/bus/tasks', { taskId: 't' });
    expect((await polling).result.structuredContent).toMatchObject({ taskId: 't' });
  },
);

test('a session that the gateway no longer knows is renewed', inTime, async () => {
  const house = await openHouse();
  const bridge = openBridge(house.url);
  await bridge.initialize();
  await house.gateway().end(10_000); // a gateway caches its sessions for a while
  await house.forgetSessions();
  await house.startGateway();
  const answers = await Promise.all([bridge.use('slow__running'), bridge.use('time__current_time')]);
  expect(answers.map(({ error }) => error)).toEqual([undefined, undefined]);
  expect(bridge.logged().match(/no longer knew the session/g)).toHaveLength(1);
  await bridge.notified('notifications/tools/list_changed'); // because the standing stream is open again
  const before = bridge.count('notifications/tools/list_changed');
  await house.call('PATCH', '/v1/plugins/time', { enabled: false });
  await bridge.notified('notifications/tools/list_changed', before);
});

test('it ends with its standard input, and cancels open requests', async () => {
  const { url, call } = await sharedHouse();
  const bridge = openBridge(url);
  await bridge.initialize();
  await bridge.use('bus__register_worker', { name: 'w' });
  bridge.begin('tools/call', { name: 'bus__poll_task', arguments: { name: 'w', timeoutMs: 60_000 } });
  const polling = async () =>
    ((await call('GET', '/v1/bus/status')) as { workersPolling: number }).workersPolling;
  await expect.poll(polling).toBe(1);
  bridge.child.stdin.end();
  expect(await bridge.exited).toBe(0);
  await expect.poll(polling).toBe(0);
  expect(bridge.notJson).toEqual([]);
});

test('without a gateway it reports this and waits; a wrong key is reported to the client; wrong options end it', async () => {
  const lonely = openBridge(`http://127.0.0.1:${await freePort()}`);
  void lonely.initialize();
  await lonely.untilLogged('does not respond (ECONNREFUSED)');
  lonely.child.stdin.end();
  expect(await lonely.exited).toBe(0);

  const { url } = await sharedHouse();
  const stranger = openBridge(url, [], { ...bridgeEnv(url), HARNESS_API_KEY: 'another-key' });
  expect((await stranger.initialize()).error).toMatchObject({ data: { code: 'unauthorized' } });

  const wrong = openBridge(url, ['--bare']);
  expect(await wrong.exited).toBe(1);
  expect(wrong.logged()).toContain('--bare needs --plugin');
});
