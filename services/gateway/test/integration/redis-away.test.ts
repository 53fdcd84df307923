import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedRedis } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { openGateway } from '../fixture.ts';

async function openRedis() {
  const dir = await mkdtemp(join(tmpdir(), 'harness-away-'));
  const redis = await startEmbeddedRedis(dir);
  onTestFinished(async () => {
    redis.process.kill('SIGCONT');
    await redis.close();
    await rm(dir, { recursive: true, force: true });
  });
  return { redis, dir };
}

test.each(['SIGSTOP', 'SIGKILL'] as const)(
  'Redis down by %s: 503 with Retry-After, and soon',
  async (signal) => {
    const { redis, dir } = await openRedis();
    const gateway = await openGateway({ redisUrl: redis.url });
    const { threadId } = (await gateway.call('POST', '/v1/threads', { body: {} })).body;
    redis.process.kill(signal);

    const post = (key: string) =>
      gateway.call('POST', `/v1/threads/${threadId}/runs`, {
        body: { input: 'x' },
        headers: { 'idempotency-key': key },
      });
    const startedAt = performance.now();
    const answers = await Promise.all([
      post('k1'),
      gateway.call('GET', '/v1/threads'),
      gateway.call('GET', '/readyz'),
    ]);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    for (const { status, headers } of answers)
      expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    expect(answers[0]?.body.error).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('Idempotency-Key'),
    });
    expect(answers[2]?.body).toEqual({
      status: 'not ready',
      missing: ['redis'],
      error: { code: 'unavailable', message: expect.stringContaining('Redis does not answer') },
    });
    expect((await gateway.call('GET', '/healthz')).status).toBe(200);
    const metrics = await gateway.call('GET', '/metrics');
    expect([metrics.status, metrics.body]).toEqual([200, expect.stringContaining('harness_redis_up 0\n')]);

    if (signal === 'SIGSTOP') redis.process.kill('SIGCONT');
    else {
      const again = await startEmbeddedRedis(dir);
      onTestFinished(() => again.close());
    }
    await expect.poll(async () => (await gateway.call('GET', '/readyz')).status).toBe(200);
    // The same key is one message, whether or not the first attempt had arrived.
    await post('k1');
    expect((await post('k1')).status).toBe(202);
    expect((await gateway.call('GET', `/v1/threads/${threadId}/runs`)).body.runs).toHaveLength(1);
  },
);
