import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedRedis } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { openGateway } from '../fixture.ts';
import { modernCaller } from '../mcp-wire.ts';
import { createPlay } from '../play-plugin.ts';

test('a task that ends while Redis is away has its result when Redis is back', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'harness-away-'));
  const redis = await startEmbeddedRedis(dir);
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const play = createPlay('A');
  const gateway = await openGateway({ redisUrl: redis.url, plugins: [play.plugin] });
  const client = modernCaller({ capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } });
  const started = play.next('started');
  const { taskId } = (await (await client.call(gateway.url, 'play__job')).message()).result;
  await started;

  redis.process.kill('SIGKILL');
  await expect.poll(async () => (await gateway.call('GET', '/readyz')).status).toBe(503);
  play.go();
  const again = await startEmbeddedRedis(dir);
  onTestFinished(() => again.close());
  const task = async () =>
    (await (await client.request(gateway.url, 'tasks/get', { taskId })).message()).result;
  await expect.poll(async () => (await task())?.status, { timeout: 10_000 }).toBe('completed');
  expect((await task()).result).toMatchObject({ content: [{ text: 'done at A' }] });
});
