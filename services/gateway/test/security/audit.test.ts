/** What the audit records: who did what, through every entrance. */

import { expect, onTestFinished, test } from 'vitest';
import { LimitsFile } from '../../src/limits/tenant-limits.ts';
import { keys, openAudited, partsOf } from '../audited-gateway.ts';
import { bearer, keyFor } from '../fixture.ts';
import { beginSession, modernCaller } from '../mcp-wire.ts';

test('every change leaves one record, with its target and outcome', async () => {
  const { as, first } = await openAudited();
  const call = as('key-of-acme');
  const { body: thread } = await call('POST', '/v1/threads', {});
  const { threadId } = thread;
  const at = `/v1/threads/${threadId}`;
  await call('POST', '/v1/threads', { threadId, ifExists: 'doNothing' }); // changes nothing
  await call('PATCH', at, { metadata: { my: 'password' } });
  const { body: run } = await call('POST', `${at}/runs`, { input: 'my password' });
  await call('POST', `${at}/runs/${run.runId}/cancel`);
  await call('POST', `${at}/prewarm`);
  await call('POST', `${at}/commands`, { command: '/model my-password' });
  await call('POST', `${at}/commands`, { command: 'my-password and more' });
  const { body: task } = await call('POST', '/v1/tasks', { prompt: 'my password' });
  await call('POST', `/v1/tasks/${task.taskId}/cancel`);
  await call('POST', '/v1/bus/workers', { name: 'mary' });
  await call('POST', '/v1/bus/tasks', { taskId: 'b1', payload: { my: 'password' } });
  await call('POST', '/v1/bus/workers/mary/poll', { timeoutMs: 0 });
  await call('POST', '/v1/bus/tasks/b1/ack', { name: 'mary' });
  await call('PATCH', '/v1/plugins/p', { enabled: true });
  await call('DELETE', at);
  await call('GET', '/v1/threads'); // reads leave none
  await call('POST', '/v1/threads', { wrong: 'password' }); // nor do malformed requests
  await call('DELETE', at);
  // Failures are written up to a second later.
  const [done = [], failed = []] = Object.values(
    Object.groupBy(await first(15), ({ outcome }) => (outcome === 'ok' ? 'done' : 'failed')),
  );
  const lines = [...done, ...failed];
  expect(lines.map(partsOf)).toEqual([
    ['createThread', threadId, 'ok'],
    ['updateThread', threadId, 'ok'],
    ['createRun', threadId, 'ok'],
    ['cancelRun', run.runId, 'ok'],
    ['prewarmThread', threadId, 'ok'],
    ['runCommand', threadId, 'ok'],
    ['createTask', task.taskId, 'ok'],
    ['cancelTask', task.taskId, 'ok'],
    ['busRegisterWorker', 'mary', 'ok'],
    ['busSubmitTask', 'b1', 'ok'],
    ['busAckTask', 'b1', 'ok'],
    ['updatePlugin', 'p', 'ok'],
    ['deleteThread', threadId, 'ok'],
    ['runCommand', threadId, 'command_failed'],
    ['deleteThread', threadId, 'thread_not_found'],
  ]);
  for (const line of lines)
    expect(line).toMatchObject({ tenant: 'acme', keyId: 'acme-1', subject: null, address: '127.0.0.1' });
  expect(new Set(lines.map(({ requestId }) => requestId)).size).toBe(lines.length);
  expect(lines[2]).toMatchObject({ runId: run.runId });
  expect(lines[5]).toMatchObject({ command: '/model' });
  expect(lines[13]).not.toHaveProperty('command');
  expect(JSON.stringify(lines)).not.toContain('password');
});

test('a stream that starts a run is recorded when it begins', async () => {
  const { as, first, url } = await openAudited();
  const { body: thread } = await as('key-of-acme')('POST', '/v1/threads', {});
  const leave = new AbortController();
  onTestFinished(() => leave.abort());
  await fetch(`${url}/v1/threads/${thread.threadId}/runs/stream`, {
    method: 'POST',
    headers: { ...bearer('key-of-acme'), 'content-type': 'application/json' },
    body: JSON.stringify({ input: 'x' }),
    signal: leave.signal,
  });
  expect((await first(2)).map(partsOf).at(-1)).toEqual(['createRunAndStream', thread.threadId, 'ok']);
});

test('every call through REST and both eras of MCP is one record, without arguments and results', async () => {
  const { as, url, first } = await openAudited();
  const headers = bearer('key-of-tools');
  const rest = (name: string, input: object) =>
    as('key-of-tools')('POST', `/v1/tools/${name}`, { arguments: input });
  const args = { my: 'password' };
  await rest('p__ok', args);
  await rest('p__fails', {});
  await rest('p__throws', {});
  await rest('p__throws', { n: 'password' });
  await rest('p__none', {});
  const [old, modern] = [await beginSession(url, { headers }), modernCaller({ headers })];
  await (await old.call(url, 'p__ok', { args, _meta: { 'claudecode/toolUseId': 'toolu_1' } })).message();
  await (await modern.call(url, 'p__ok', { args })).message();
  await (await modern.request(`${url}`, 'tools/list')).message();
  const lines = (await first(8)).filter(({ action }) => action !== 'initialize');
  const source = { tenant: 'acme', keyId: 'tools-1', address: '127.0.0.1', action: 'tools/call' };
  const threadId = expect.stringMatching(/^thr_/);
  expect(lines).toMatchObject([
    { ...source, door: 'rest', target: 'p__ok', outcome: 'ok', inputBytes: 17, threadId },
    { ...source, door: 'rest', target: 'p__fails', outcome: 'tool_error' },
    { ...source, door: 'rest', target: 'p__throws', outcome: 'tool_failed' },
    { ...source, door: 'rest', target: 'p__throws', outcome: 'invalid_tool_input' },
    { ...source, door: 'rest', target: 'p__none', outcome: 'tool_not_found', outputBytes: 0 },
    { ...source, door: 'mcp', target: 'p__ok', outcome: 'ok', toolUseId: 'toolu_1', threadId },
    { ...source, door: 'mcp', target: 'p__ok', outcome: 'ok', threadId },
  ]);
  expect(new Set(lines.map(({ requestId }) => requestId)).size).toBe(7);
  expect(JSON.stringify(lines)).not.toMatch(/password|secret answer|boom/);
});

test('every refusal leaves a record: credentials, scopes, Host, Origin, another caller’s session', async () => {
  const { as, call, url, first } = await openAudited();
  await call('GET', '/v1/threads');
  await call('DELETE', '/v1/threads/x', { headers: bearer('not-a-key') });
  await as('key-of-tools')('GET', '/v1/threads');
  await as('key-of-tools')('POST', '/v1/threads/thr/runs', { input: 'x' });
  await call('GET', '/healthz', { headers: { origin: 'https://evil.test' } });
  await call('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'ping' } });
  const session = await beginSession(url, { headers: bearer('key-of-acme') });
  await session.as(bearer('key-of-umbrella')).request(url, 'tools/list');
  const named = { 'harness/threadId': 'thr' };
  await (
    await modernCaller({ headers: bearer('key-of-tools') }).call(url, 'p__ok', { _meta: named })
  ).message();
  const lines = (await first(9)).filter(({ action }) => action !== 'initialize');
  expect(lines.map((line) => [line.tenant, line.keyId, ...partsOf(line)])).toEqual([
    [null, null, 'listThreads', null, 'unauthorized'],
    [null, null, 'deleteThread', 'x', 'unauthorized'],
    ['acme', 'tools-1', 'listThreads', null, 'forbidden'],
    ['acme', 'tools-1', 'createRun', 'thr', 'forbidden'],
    [null, null, 'getHealth', null, 'forbidden'],
    [null, null, 'POST /mcp', null, 'unauthorized'],
    ['umbrella', 'umbrella-1', 'POST /mcp', null, 'not_found'],
    ['acme', 'tools-1', 'tools/call', 'p__ok', 'forbidden'],
  ]);
});

test('a request over the limit is recorded with its key, from both entrances', async () => {
  const limitsFile = LimitsFile.parse({ tenants: { acme: { requestsPerSecond: 1, burst: 1 } } });
  const { as, url, first } = await openAudited({ limitsFile });
  await as('key-of-acme')('GET', '/v1/tools');
  for (let i = 0; i < 3; i++) await as('key-of-acme')('GET', '/v1/tools');
  await modernCaller({ headers: bearer('key-of-acme') }).call(url, 'p__ok');
  const lines = await first(2);
  expect(lines.map((line) => [line.tenant, line.keyId, ...partsOf(line)])).toEqual([
    ['acme', 'acme-1', 'listTools', null, 'rate_limited'],
    ['acme', 'acme-1', 'POST /mcp', null, 'rate_limited'],
  ]);
  expect(lines[0]?.count).toBeGreaterThanOrEqual(2);
});

test('an MCP task that is cancelled, and a resource without the scope, leave records', async () => {
  const { url, first } = await openAudited({
    keys: [...keys, keyFor('key-of-the-bus', { id: 'bus-1', tenant: 'acme', scopes: ['bus'] })],
  });
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
  const modern = modernCaller({ headers: bearer('key-of-acme'), capabilities });
  const { taskId } = (await (await modern.call(url, 'p__job')).message()).result;
  await (await modern.request(url, 'tasks/cancel', { params: { taskId } })).message();
  const bus = modernCaller({ headers: bearer('key-of-the-bus') });
  await (await bus.request(url, 'resources/read', { params: { uri: 'x://y' } })).message();
  const lines = await first(3);
  expect(lines.map(partsOf)).toEqual(
    expect.arrayContaining([
      ['tasks/cancel', taskId, 'ok'],
      ['tools/call', 'p__job', 'turn_cancelled'],
      ['resources/read', 'x://y', 'forbidden'],
    ]),
  );
});
