import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedRedis } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { connectTestRedis, openGateway } from '../fixture.ts';

test('while Redis refuses writes a gateway is not ready, and reports why', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'harness-refuses-'));
  const redis = await startEmbeddedRedis(dir);
  onTestFinished(async () => {
    await redis.close();
    await rm(dir, { recursive: true, force: true });
  });
  const { call } = await openGateway({ redisUrl: redis.url });
  const admin = connectTestRedis(redis.url);
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
    expect((await call('POST', '/v1/threads', { body: {} })).status).toBe(503);
    const level = { jsonrpc: '2.0', id: 1, method: 'logging/setLevel', params: { level: 'error' } };
    const { body } = await call('POST', '/mcp', { body: level, headers: session });
    expect(body).toMatchObject({ error: { data: { code: 'unavailable' } } });

    await end();
    await expect.poll(statusNow).toBe(200);
    expect((await call('POST', '/v1/threads', { body: {} })).status).toBe(201);
  }
});
