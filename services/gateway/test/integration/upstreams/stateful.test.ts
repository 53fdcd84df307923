/** Upstreams that keep state for each thread. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { type Gateway, openGateway, probe } from '../../fixture.ts';
import { clientAt, fileOf, playwright, type Shown, untilReady } from '../../published-servers.ts';

const main = fileURLToPath(new URL('../../hostile-server.ts', import.meta.url));
const server = { command: process.execPath, args: [main], scope: 'thread' };

const threadOf = async (gateway: Gateway) =>
  (await gateway.call('POST', '/v1/threads', { body: {} })).body.threadId as string;
const callOn = async (gateway: Gateway, threadId: string, [tool, args = {}]: [string, object?]) =>
  (await gateway.call('POST', `/v1/tools/${tool}`, { body: { threadId, arguments: args } })).body as {
    isError: boolean;
    content: { text: string }[];
  };
const textOn = async (gateway: Gateway, threadId: string, tool: string) =>
  (await callOn(gateway, threadId, [tool])).content[0]?.text ?? '';

const lost =
  'own was started anew: what it held for this thread is lost, and this call was not made. Begin again.';

test('each thread has a process of its own; it ends with the thread, and its loss is said once', async () => {
  const gateway = await openGateway({ upstreams: fileOf({ own: server }), plugins: [probe] });
  await untilReady(gateway, ['own']);
  const [first, second] = [await threadOf(gateway), await threadOf(gateway)];
  const [one, other] = [await textOn(gateway, first, 'own__pid'), await textOn(gateway, second, 'own__pid')];
  expect(one).not.toBe(other);
  expect(await textOn(gateway, first, 'own__pid')).toBe(one);
  const { upstreams } = (await gateway.call('GET', '/v1/upstreams')).body as { upstreams: Shown[] };
  expect(upstreams[0]).toMatchObject({ connections: 3 }); // and one for the lists

  await callOn(gateway, first, ['own__die']);
  await expect.poll(() => textOn(gateway, first, 'own__pid')).toBe(lost);
  expect(await textOn(gateway, first, 'own__pid')).not.toBe(one);
  expect(await textOn(gateway, second, 'own__pid')).toBe(other);

  expect(existsSync(`/proc/${other}`)).toBe(true);
  expect((await gateway.call('DELETE', `/v1/threads/${second}`)).status).toBe(204);
  await expect.poll(() => existsSync(`/proc/${other}`)).toBe(false);
});

test('the loss of what a thread had is said once, whatever the cause', async () => {
  const settings = { tag: randomUUID(), upstreams: fileOf({ own: server }), plugins: [probe] };
  const gateway = await openGateway(settings);
  await untilReady(gateway, ['own']);
  const [thread, other] = [await threadOf(gateway), await threadOf(gateway)];
  let pid = await textOn(gateway, thread, 'own__pid');
  const expectLoss = async (at: Gateway, ready: string) => {
    // Until it is connected again, calls fail for other reasons.
    await expect.poll(() => textOn(at, thread, 'own__pid')).toBe(ready);
    const now = await textOn(at, thread, 'own__pid');
    expect(now).toMatch(/^\d+$/);
    expect(now).not.toBe(pid);
    pid = now;
  };
  await gateway.call('POST', '/v1/upstreams/own/reconnect');
  await expectLoss(gateway, lost);
  for (const enabled of [false, true]) {
    await gateway.call('PATCH', '/v1/upstreams/own', { body: { enabled } });
    const state = enabled ? 'ready' : 'disabled';
    await expect
      .poll(async () => (await gateway.call('GET', '/v1/upstreams')).body.upstreams[0].state)
      .toBe(state);
  }
  await expectLoss(gateway, lost);
  const second = await openGateway(settings);
  await untilReady(second, ['own']);
  await gateway.app.close(); // the second one becomes the owner
  await expectLoss(second, lost);
  await second.app.close();
  const third = await openGateway(settings);
  await untilReady(third, ['own']);
  await expectLoss(third, lost);
  expect(await textOn(third, other, 'own__pid')).toMatch(/^\d+$/); // it had nothing
});

test('resources and prompts are of the session of the thread that asks', async () => {
  const own = { ...server, args: [main, 'resource'] };
  const gateway = await openGateway({ upstreams: fileOf({ own }), plugins: [probe] });
  await untilReady(gateway, ['own']);
  // Each has a client of its own, since clients keep what they have read.
  const seen = await Promise.all(
    [await threadOf(gateway), await threadOf(gateway)].map(async (threadId) => {
      const client = await clientAt(gateway.url);
      const _meta = { 'harness/threadId': threadId };
      const { contents } = await client.readResource({ uri: 'x://own', _meta });
      const { messages } = await client.getPrompt({ name: 'own__pid', _meta });
      const read = (contents[0] as { text: string }).text;
      const pid = await textOn(gateway, threadId, 'own__pid');
      expect([read, (messages as { content: { text: string } }[])[0]?.content.text]).toEqual([pid, pid]);
      return pid;
    }),
  );
  expect(seen[0]).not.toBe(seen[1]);
  const unknown = (await clientAt(gateway.url)).readResource({
    uri: 'x://own',
    _meta: { 'harness/threadId': 'none' },
  });
  await expect(unknown).rejects.toThrow('none');
});

test('a gateway runs so many children: an idle one of a thread makes room, and no other upstream fails', async () => {
  const upstreams = fileOf({ own: server, other: { ...server, scope: 'shared' } });
  const gateway = await openGateway({ upstreams, plugins: [probe], maxChildren: 3 });
  await untilReady(gateway, ['other', 'own']); // two children
  const [first, second] = [await threadOf(gateway), await threadOf(gateway)];
  const pid = await textOn(gateway, first, 'own__pid');
  expect(await textOn(gateway, second, 'own__pid')).not.toBe(pid);
  expect(existsSync(`/proc/${pid}`)).toBe(false);

  const waiting = callOn(gateway, second, ['own__wait']);
  await expect.poll(() => textOn(gateway, second, 'own__say')).toBe('said meanwhile');
  await expect.poll(() => textOn(gateway, first, 'own__pid')).toContain('HARNESS_UPSTREAM_CHILDREN');
  const { diagnostics } = (await gateway.call('GET', '/v1/upstreams')).body;
  expect(diagnostics).toMatchObject([{ message: expect.stringContaining('runs at most 3') }]);
  expect(await textOn(gateway, first, 'other__say')).toBe('said');
  await gateway.call('DELETE', `/v1/threads/${second}`);
  expect(await waiting).toMatchObject({ isError: true });
  await expect.poll(() => textOn(gateway, first, 'own__pid')).toMatch(/^\d+$/);
});

test('children end when the gateway is killed', async () => {
  const script = `
    import { createStdioTransport } from ${JSON.stringify(new URL('../../../src/upstreams/connection/stdio-transport.ts', import.meta.url).href)};
    const transport = createStdioTransport({ command: 'sh', args: ['-c', 'sleep 1000 & echo "[$$,$!]"; wait'], env: {} }, { env: process.env });
    transport.onmessage = (pids) => console.log(JSON.stringify(pids));
    await transport.start();
  `;
  const gateway = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void gateway.kill('SIGKILL'));
  const [line] = await once(createInterface({ input: gateway.stdout }), 'line');
  const pids = JSON.parse(line) as number[];
  expect(pids.map((pid) => existsSync(`/proc/${pid}`))).toEqual([true, true]);
  gateway.kill('SIGKILL');
  await expect.poll(() => pids.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
});

test('@playwright/mcp with Chromium: two threads have each their own page', { timeout: 90_000 }, async () => {
  const site = createServer((request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(`<title>Page ${request.url}</title><h1>Hello from ${request.url}</h1>`);
  }).listen(0, '127.0.0.1');
  await once(site, 'listening');
  onTestFinished(() => void site.close().closeAllConnections());
  const at = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const gateway = await openGateway({ upstreams: fileOf({ browser: playwright }), plugins: [probe] });
  await untilReady(gateway, ['browser']);
  const threads = [await threadOf(gateway), await threadOf(gateway)];
  for (const [i, thread] of threads.entries()) {
    const visited = await callOn(gateway, thread, ['browser__browser_navigate', { url: `${at}/${i}` }]);
    expect([visited.isError, visited.content[0]?.text]).toEqual([
      false,
      expect.stringContaining(`Page /${i}`),
    ]);
  }
  for (const [i, thread] of threads.entries())
    expect(await textOn(gateway, thread, 'browser__browser_snapshot')).toContain(`Hello from /${i}`);
});
