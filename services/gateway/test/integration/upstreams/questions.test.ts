/** Questions of servers of 2025-11-25 with a connection for each thread: they reach the caller of the one call that is open. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { type Gateway, openGateway, probe } from '../../fixture.ts';
import { modernCaller } from '../../mcp-wire.ts';
import { clientAt, fileOf, serverOf, untilReady } from '../../published-servers.ts';

const everything = { ...serverOf('everything', 'stdio'), scope: 'thread' };
const ask = { name: 'everything__trigger-elicitation-request', arguments: {} };
const who = async () => ({ action: 'accept' as const, content: { name: 'Ada' } });

async function openTwo(): Promise<Gateway[]> {
  const tag = randomUUID();
  const open = () => openGateway({ tag, upstreams: fileOf({ everything }), plugins: [probe] });
  const gateways = [await open(), await open()];
  for (const gateway of gateways) await untilReady(gateway, ['everything']);
  return gateways;
}

test('the client answers, in both eras and at either gateway, and the call goes on where it was', {
  timeout: 60_000,
}, async () => {
  for (const { url } of await openTwo())
    for (const mode of ['auto', 'legacy'] as const) {
      const client = await clientAt(url, mode, { who });
      expect(await client.callTool(ask)).toMatchObject({
        content: [
          { text: expect.stringContaining('User provided') },
          { text: 'User inputs:\n- Name: Ada' },
          {},
        ],
      });
    }
});

test('a task asks, too: of a client that waits for its result, and of one that is given a task', {
  timeout: 60_000,
}, async () => {
  const [gateway] = (await openTwo()) as [Gateway];
  const research = {
    name: 'everything__simulate-research-query',
    arguments: { topic: 'python', ambiguous: true },
  };
  const snake = async () => ({ action: 'accept' as const, content: { interpretation: 'snake' } });
  const client = await clientAt(gateway.url, 'auto', { who: snake });
  const report = [{ text: expect.stringContaining('Research Report: python (snake)') }];
  expect(await client.callTool(research)).toMatchObject({ content: report });

  const wire = modernCaller({
    capabilities: { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
  });
  const called = await wire.call(gateway.url, research.name, { args: research.arguments });
  const { taskId } = (await called.message()).result;
  const about = async (method: string, more: object = {}) =>
    (await (await wire.request(gateway.url, `tasks/${method}`, { params: { taskId, ...more } })).message())
      .result;
  const status = async () => (await about('get')).status;
  await expect.poll(status, { timeout: 15_000 }).toBe('input_required');
  const [key = ''] = Object.keys((await about('get')).inputRequests);
  await about('update', { inputResponses: { [key]: await snake() } });
  await expect.poll(status, { timeout: 15_000 }).toBe('completed');
  expect((await about('get')).result).toMatchObject({ content: report });
});

test('a caller that cannot be asked declines at once, and so does one with a second call in progress', async () => {
  const [gateway] = (await openTwo()) as [Gateway];
  const { body } = await gateway.call('POST', '/v1/tools/everything__trigger-elicitation-request', {
    body: { arguments: {} },
  });
  expect(body.content[0].text).toContain('User declined');

  const client = await clientAt(gateway.url, 'auto', { who });
  const begun = Promise.withResolvers<void>();
  const long = {
    name: 'everything__trigger-long-running-operation',
    arguments: { duration: 60, steps: 600 },
  };
  const stop = new AbortController();
  const other = client.callTool(long, { onprogress: () => begun.resolve(), signal: stop.signal });
  await begun.promise;
  expect(await client.callTool(ask)).toMatchObject({
    content: [{ text: expect.stringContaining('declined') }, {}],
  });
  stop.abort(new Error('enough'));
  await expect(other).rejects.toThrow('enough');
});

test('a call that waits for its answer, or was cancelled then, keeps no other from asking', async () => {
  const [gateway] = (await openTwo()) as [Gateway];
  let asked = 0;
  const answer = Promise.withResolvers<Awaited<ReturnType<typeof who>>>();
  const slow = await clientAt(gateway.url, 'legacy', {
    who: () => {
      asked += 1;
      return answer.promise;
    },
  });
  const stop = new AbortController();
  const waiting = slow.callTool(ask);
  await expect.poll(() => asked).toBe(1);
  const cancelled = slow.callTool(ask, { signal: stop.signal });
  await expect.poll(() => asked).toBe(2);
  const client = await clientAt(gateway.url, 'legacy', { who });
  const answered = { content: [{ text: expect.stringContaining('User provided') }, {}, {}] };
  expect(await client.callTool(ask)).toMatchObject(answered);
  stop.abort(new Error('enough'));
  await expect(cancelled).rejects.toThrow('enough');
  expect(await client.callTool(ask)).toMatchObject(answered);
  answer.resolve(await who());
  expect(await waiting).toMatchObject(answered);
});
