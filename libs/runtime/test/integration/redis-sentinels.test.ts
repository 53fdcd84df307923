import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../src/logs/logger.ts';
import { connectRedis } from '../../src/redis.ts';
import { openRedisGroup } from '../redis-group.ts';

test('sentinels name the primary; after a fail-over a connection follows the new one, and waiting commands are executed there', async () => {
  const group = await openRedisGroup();
  onTestFinished(group.close);
  const redis = connectRedis(group.url, { logger: createLogger('test', 'silent'), patience: 'wait' });
  onTestFinished(() => redis.disconnect());
  await redis.set('before', '1');
  await group.synced();
  let waited: Promise<string> | undefined;
  await group.failOver(() => {
    waited = redis.set('meanwhile', '2');
  });
  expect(await waited).toBe('OK');
  expect(await redis.mget('before', 'meanwhile')).toEqual(['1', '2']);
  expect(await redis.info('replication')).toMatch(/role:master/);
});

const poll = { timeout: 10_000, interval: 50 };

test('a sentinel that accepts connections and never answers is passed over, at the start and in a fail-over', async () => {
  const group = await openRedisGroup();
  onTestFinished(group.close);
  const silent = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const url = group.url.replace('@', `@127.0.0.1:${port},`);
  const logger = createLogger('test', 'silent');
  const connections = Array.from({ length: 8 }, () => connectRedis(url, { logger, patience: 'wait' }));
  const copies = connections.map((connection) => connection.duplicate().on('error', () => undefined));
  connections.push(...copies);
  onTestFinished(() => connections.forEach((connection) => void connection.disconnect()));
  const allReachThePrimary = () =>
    Promise.all(
      connections.map((connection) =>
        // A connection that is closing gives up its commands.
        expect.poll(() => connection.info('replication').catch(String), poll).toContain('role:master'),
      ),
    );
  await allReachThePrimary();
  await group.failOver();
  await allReachThePrimary();
});

test('rediss+sentinel:// uses TLS with sentinels and servers, and refuses an untrusted certificate', async () => {
  const group = await openRedisGroup({ tls: true });
  onTestFinished(group.close);
  const script = `
    const { connectRedis, createLogger } = await import(${JSON.stringify(new URL('../../src/index.ts', import.meta.url).href)});
    const redis = connectRedis(process.argv[1], { logger: createLogger('test', 'silent'), patience: 'fail-fast' });
    const late = setTimeout(() => { console.log('not connected'); process.exit(); }, 3000);
    redis.once('ready', async () => { clearTimeout(late); console.log(await redis.set('over', 'tls')); process.exit(); });
  `;
  const run = async (env: Record<string, string>) => {
    const args = ['--input-type=module', '-e', script, group.url];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    return stdout.trim();
  };
  const [trusted, untrusted] = await Promise.all([
    run({ NODE_EXTRA_CA_CERTS: group.certificateFile }),
    run({}),
  ]);
  expect(trusted).toBe('OK');
  expect(untrusted).toBe('not connected');
  expect(await group.primary().client.get('over')).toBe('tls');
});
