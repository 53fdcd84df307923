import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedRedis } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { connectTestRedis, openGateway } from '../fixture.ts';

/** A gateway with a private Redis, and a connection that changes what this Redis accepts. */
async function openRefusing() {
  const dir = await mkdtemp(join(tmpdir(), 'harness-refuses-'));
  const redis = await startEmbeddedRedis(dir);
  onTestFinished(async () => {
    await redis.close();
    await rm(dir, { recursive: true, force: true });
  });
  const { call } = await openGateway({ redisUrl: redis.url });
  return { dir, call, admin: connectTestRedis(redis.url) };
}

test('a right that Redis takes away is a reason to repeat, and no failure of the gateway', async () => {
  const { call, admin } = await openRefusing();
  await admin.acl('SETUSER', 'default', '-evalsha', '-eval');
  expect(await call('POST', '/v1/threads', { body: {} })).toMatchObject({
    status: 503,
    body: { error: { code: 'unavailable', message: expect.stringContaining('lacks a right') } },
  });
  await admin.acl('SETUSER', 'default', '+@all');
  expect((await call('POST', '/v1/threads', { body: {} })).status).toBe(201);
});

test('while Redis refuses writes a gateway is not ready, and reports why', async () => {
  const { dir, call, admin } = await openRefusing();
  const set = (name: string, value: string) => admin.config('SET', name, value);

  /** Makes a real Redis refuse writes while it serves reads, and accept them again. */
  const refusals = {
    OOM: { begin: () => set('maxmemory', '1'), end: () => set('maxmemory', '0') },
    // A replica whose primary is down keeps its data and responds.
    READONLY: {
      begin: () => admin.replicaof('127.0.0.1', 1),
      end: () => admin.replicaof('NO', 'ONE'),
    },
    NOREPLICAS: {
      begin: () => set('min-replicas-to-write', '1'),
      end: () => set('min-replicas-to-write', '0'),
    },
    MISCONF: {
      begin: async () => {
        await mkdir(join(dir, 'dump.rdb')); // a folder where the snapshot's file should be
        await set('save', '3600 1');
        await admin.bgsave();
      },
      end: () => set('save', ''),
    },
  };

  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const initialize = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
  const accept = { accept: 'application/json, text/event-stream' };
  const begun = await call('POST', '/mcp', { body: initialize, headers: accept });
  const session = { ...accept, 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' };

  const inSession = async (method: string, given: object) => {
    const body = { jsonrpc: '2.0', id: 1, method, params: given };
    return (await call('POST', '/mcp', { body, headers: session })).body;
  };

  const statusNow = async () => (await call('GET', '/readyz')).status;
  expect(await statusNow()).toBe(200);
  for (const [code, { begin, end }] of Object.entries(refusals)) {
    await begin();
    // After READONLY the connection is reopened: for a moment Redis does not respond.
    await expect
      .poll(async () => (await call('GET', '/readyz')).body)
      .toEqual({
        status: 'not ready',
        missing: ['redis'],
        error: {
          code: 'unavailable',
          message: expect.stringContaining(`takes no writes (${code})`),
          details: { redis: code },
        },
      });
    expect((await call('GET', '/readyz')).headers.get('retry-after')).toBe('1');
    expect((await call('GET', '/healthz')).status).toBe(200);
    const reason = { code: 'unavailable', message: expect.stringContaining('takes no writes') };
    // Each second the connection leaves a replica for a moment, to look for the primary.
    await expect
      .poll(async () => (await call('POST', '/v1/threads', { body: {} })).body)
      .toMatchObject({ error: reason });
    await expect
      .poll(() => inSession('logging/setLevel', { level: 'error' }))
      .toMatchObject({ error: { message: reason.message, data: { code: 'unavailable' } } });
    // What needs no write is served, in sessions of MCP, too.
    await expect.poll(async () => (await call('GET', '/v1/threads')).status).toBe(200);
    const clock = { name: 'time__current_time', arguments: {} };
    await expect
      .poll(() => inSession('tools/call', clock))
      .toMatchObject({ result: { content: [{ type: 'text' }] } });

    await end();
    await expect.poll(statusNow).toBe(200);
    expect((await call('POST', '/v1/threads', { body: {} })).status).toBe(201);
  }
});
