import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectRedis, createLogger, freePort } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';

const proc = (pid: number | string, file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');

/** The processes below this one. */
async function descendantsOf(pid: number): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const parents = await Promise.all(
    pids.map(async (one) => ({
      pid: one,
      parent: Number((await proc(one, 'stat')).split(') ')[1]?.split(' ')[1]),
    })),
  );
  const below = (of: number): number[] =>
    parents.filter(({ parent }) => parent === of).flatMap((one) => [one.pid, ...below(one.pid)]);
  return below(pid);
}

/** Names and contents of all files below a folder. */
async function filesIn(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const texts = entries.map(async (entry) => {
    const path = join(entry.parentPath, entry.name);
    return `${path}\n${entry.isFile() ? await readFile(path, 'latin1').catch(() => '') : ''}`;
  });
  return (await Promise.all(texts)).join('\n');
}

test.skipIf(!existsSync('/proc/self/environ'))(
  'a session sees no credential of Redis and no secret of the fleet: in its environment, arguments and files',
  async () => {
    const secrets = {
      redis: 'the-password-of-redis',
      key: 'the-key-of-the-fleet',
      token: 'the-secret-of-the-tokens',
    };
    const env = { HARNESS_API_KEY: secrets.key, HARNESS_TOKEN_SECRET: secrets.token };
    const fleet = await openFleet({ workers: 0, env });
    const redis = connectRedis(fleet.redisUrl, { logger: createLogger('test', 'silent'), patience: 'wait' });
    onTestFinished(() => redis.disconnect());
    const port = await freePort();
    await redis.call('ACL', 'SETUSER', 'harness', 'on', `>${secrets.redis}`, '~*', '&*', '+@all');
    await redis.call('CONFIG', 'SET', 'bind', '127.0.0.1');
    await redis.call('CONFIG', 'SET', 'port', String(port));
    const REDIS_URL = `redis://harness:${secrets.redis}@127.0.0.1:${port}`;
    const worker = await fleet.addWorker({ REDIS_URL });
    expect(await proc(worker.process.pid as number, 'environ')).toContain(secrets.redis);

    const headers = { authorization: `Bearer ${secrets.key}`, 'content-type': 'application/json' };
    const post = async (path: string, body: object) => {
      const response = await fetch(fleet.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
      return (await response.json()) as { threadId: string; status: string };
    };
    const { threadId } = await post('/v1/threads', {});
    const run = await post(`/v1/threads/${threadId}/runs/wait`, { input: 'call: time__current_time {}' });
    expect(run.status).toBe('success');

    const sessions: string[] = [];
    for (const pid of await descendantsOf(worker.process.pid as number)) {
      const [environ, cmdline] = [await proc(pid, 'environ'), await proc(pid, 'cmdline')];
      const home = /(?:^|\0)HOME=([^\0]*)/.exec(environ)?.[1];
      if (home?.includes('harness-worker-')) sessions.push(environ, cmdline, await filesIn(home));
    }
    expect(sessions.join('')).toContain('ANTHROPIC_BASE_URL'); // the warm session was found
    for (const secret of [...Object.values(secrets), 'REDIS_URL', `:${port}`, 'redis.sock'])
      expect([secret, sessions.join('\n').includes(secret)]).toEqual([secret, false]);
  },
);
