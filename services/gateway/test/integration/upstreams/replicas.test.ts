/** Two gateways and an upstream that only one may be connected to. */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { FollowedFile } from '../../../src/follow-file.ts';
import type { UpstreamsFile } from '../../../src/upstreams/file/upstreams-file.ts';
import { type Gateway, openGateway, probe } from '../../fixture.ts';
import { clientAt, fileOf, type Shown, serverOf, untilReady } from '../../published-servers.ts';

const main = fileURLToPath(new URL('../../hostile-server.ts', import.meta.url));
const server = { command: process.execPath, args: [main] };
const textOf = async (gateway: Gateway, tool: string, args: object = {}) =>
  (await gateway.call('POST', `/v1/tools/${tool}`, { body: { arguments: args } })).body.content[0]
    .text as string;
const shownOf = async (gateway: Gateway, name: string) =>
  ((await gateway.call('GET', '/v1/upstreams')).body.upstreams as Shown[]).find(
    (one) => one.name === name,
  ) as Shown;

async function openTwo(upstreams: ReturnType<typeof fileOf>, names: string[]) {
  const tag = randomUUID();
  const open = () => openGateway({ tag, upstreams, plugins: [probe] });
  const gateways = [await open(), await open()] as const;
  for (const gateway of gateways) await untilReady(gateway, names);
  return gateways;
}

test('one process serves both gateways; when its gateway leaves, the other starts another', async () => {
  const [first, second] = await openTwo(fileOf({ one: server }), ['one']);
  const pid = await textOf(first, 'one__pid');
  expect(await textOf(second, 'one__pid')).toBe(pid);
  const owner = (await shownOf(first, 'one')).owner;
  expect((await shownOf(second, 'one')).owner).toBe(owner);
  expect(await shownOf(second, 'one')).toMatchObject({ state: 'ready', connections: 1, calls: 1 });
  const [its, other] = owner === first.dispatch.replicas.id ? [first, second] : [second, first];
  await its.app.close();
  await expect.poll(async () => textOf(other, 'one__pid')).not.toBe(pid);
  expect((await shownOf(other, 'one')).owner).toBe(other.dispatch.replicas.id);
});

test('progress and cancellation pass between gateways', async () => {
  const gateways = await openTwo(fileOf({ everything: serverOf('everything', 'stdio') }), ['everything']);
  for (const { url } of gateways) {
    const client = await clientAt(url);
    const steps: number[] = [];
    await client.callTool(
      { name: 'everything__trigger-long-running-operation', arguments: { duration: 0.2, steps: 4 } },
      { onprogress: ({ progress }) => void steps.push(progress) },
    );
    expect(steps).toEqual([1, 2, 3, 4]);
    const stop = new AbortController();
    const call = client.callTool(
      { name: 'everything__trigger-long-running-operation', arguments: { duration: 60, steps: 600 } },
      { onprogress: () => stop.abort(new Error('enough')), signal: stop.signal },
    );
    await expect(call).rejects.toThrow('enough');
  }
});

test('a subscription holds when another gateway becomes the owner', async () => {
  const [first, second] = await openTwo(fileOf({ one: { ...server, args: [main, 'resource'] } }), ['one']);
  const isFirst = (await shownOf(first, 'one')).owner === first.dispatch.replicas.id;
  const [its, other] = isFirst ? [first, second] : [second, first];
  const client = await clientAt(other.url);
  let updates = 0;
  client.setNotificationHandler('notifications/resources/updated', () => void updates++);
  await client.listen({ resourceSubscriptions: ['x://own'] });
  await expect.poll(() => updates).toBe(1);
  await its.app.close();
  await expect.poll(() => updates, { timeout: 15_000 }).toBe(2);
});

test('an upstream whose entry has changed stays with its gateway', async () => {
  let current = fileOf({ one: server });
  let listener = () => {};
  const upstreams: FollowedFile<UpstreamsFile> = {
    current: () => current,
    onChange(given) {
      listener = given;
    },
    close: () => undefined,
  };
  const tag = randomUUID();
  const [gateway, other] = [
    await openGateway({ tag, upstreams, plugins: [probe] }),
    await openGateway({ tag }),
  ];
  await untilReady(gateway, ['one']);
  current = fileOf({ one: { ...server, tools: ['say'] } });
  listener();
  await expect.poll(async () => (await shownOf(gateway, 'one')).tools).toEqual(['one__say']);
  expect(await other.dispatch.upstreamOwners.own('one')).toBe(gateway.dispatch.replicas.id);
});
