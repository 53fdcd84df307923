/** Servers of the SSE benchmark: the gateway, or a bare loop, each in a separate process. */
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createDispatch, startLiveness } from '@harness/dispatch';
import { connectRedis, createLogger, startChild } from '@harness/runtime';
import { searchPath } from '../config.ts';
import { settling, startGateway } from '../gateway.ts';

/** Several keys, because a gateway allows 500 streams per key. */
const keys = ['first-key-of-the-benchmark', 'second-key-of-the-benchmark', 'third-key-of-the-benchmark'];
const inThisFolder = (name: string) => new URL(name, import.meta.url);

/** A server under measurement. */
export interface SseServer {
  pid: number;
  /** URL of the event stream. */
  url: string;
  keys: string[];
  /** Emits this many events as fast as possible. */
  emit(events: number): Promise<void>;
  end(): Promise<void>;
}

/** The servers that are compared. */
export type ServerName = 'gateway' | 'naive loop' | 'shared buffer';

/** Starts a server. */
export const startServer = (name: ServerName, redisUrl: string): Promise<SseServer> =>
  name === 'gateway' ? openGateway(redisUrl) : startLoop(name);

async function startLoop(name: string): Promise<SseServer> {
  const child = await startChild<{ url: string }>({
    name,
    main: fileURLToPath(inThisFolder('loop-server.ts')),
    args: [name],
    env: { PATH: searchPath, ...settling },
  });
  return {
    pid: child.process.pid as number,
    url: child.ready.url,
    keys,
    async emit(events) {
      const done = once(child.process, 'message');
      child.process.send(events);
      await done;
    },
    end: () => child.end(10_000),
  };
}

async function openGateway(redisUrl: string): Promise<SseServer> {
  const dir = await mkdtemp(join(tmpdir(), 'harness-bench-'));
  const file = join(dir, 'keys.json');
  await writeFile(file, JSON.stringify(keys.map(keyEntryOf)));
  const child = await startGateway(redisUrl, { ...settling, HARNESS_API_KEYS_FILE: file });
  const talk = await openTalk(redisUrl);
  return {
    pid: child.process.pid as number,
    url: `${child.ready.url}/v1/threads/${talk.threadId}/events?follow=true`,
    keys,
    async emit(events) {
      // Up to 16 writes in flight, in order: the fan-out is measured, not the disk of Redis.
      const under = new Set<Promise<void>>();
      for (let n = 0; n < events; n++) {
        const said = talk.say().finally(() => under.delete(said));
        under.add(said);
        if (under.size >= 16) await Promise.race(under);
      }
      await Promise.all(under);
    },
    async end() {
      await child.end(20_000);
      await talk.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

const keyEntryOf = (key: string, n: number) => ({
  id: `bench${n}`,
  keySha256: createHash('sha256').update(key).digest('hex'),
  tenant: 'default',
  scopes: ['threads'],
});

/** Opens a turn that this process plays through the real dispatch layer; its events have 226 bytes. */
async function openTalk(redisUrl: string) {
  const logger = createLogger('bench', 'error');
  const connect = () => connectRedis(redisUrl, { logger, patience: 'wait' });
  const [redis, subscriber] = [connect(), connect()];
  const dispatch = createDispatch({ redis, subscriber, logger });
  const liveness = await startLiveness(
    { redis, keys: dispatch.keys, logger },
    {
      workerId: `wrk_${randomUUID().replaceAll('-', '')}`,
      ttlMs: 60_000,
      onUnhealthy: () => undefined,
    },
  );
  const tenant = 'default';
  const { threadId } = (await dispatch.threads.create(tenant, {})).thread;
  await dispatch.runs.append({ tenant, threadId, request: { input: 'x' }, idempotencyKey: randomUUID() });
  const claim = await dispatch.lease.claim(threadId, liveness.me());
  if (claim.outcome !== 'mine') throw new Error(`not claimed: ${claim.outcome}`);
  const begun = await dispatch.lease.begin(claim.hold, randomUUID());
  if (!('turn' in begun)) throw new Error(`no turn: ${begun.outcome}`);
  let counter = 0;
  return {
    threadId,
    async say() {
      await dispatch.lease.emit(begun.turn, {
        counter: ++counter,
        events: [{ type: 'agent.message', text: 'a few words' }],
      });
    },
    async close() {
      await liveness.end();
      await dispatch.close();
      redis.disconnect();
    },
  };
}
