import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Run, Task, ThreadEvent } from '@harness/contracts';
import { readEventStream } from '@harness/runtime';
import { afterAll, onTestFinished } from 'vitest';
import { type Fleet, startFleet } from '../src/fleet.ts';

export interface TestFleet extends Fleet {
  thread(body?: object): Promise<string>;
  /** Sends a message and waits for its end. */
  ask(threadId: string, input: string, more?: object): Promise<Run>;
  send(threadId: string, input: string, headers?: Record<string, string>): Promise<Run>;
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body?: object, headers?: Record<string, string>): Promise<T>;
  /** Events of a thread as they come, until one fits; after an event and from another gateway, if told. */
  watch(
    path: string,
    until: (event: ThreadEvent) => boolean,
    resume?: { lastEventId: string; from: string },
  ): Promise<ThreadEvent[]>;
  task(taskId: string): Promise<Task>;
}

export interface FleetOptions {
  workers?: number;
  env?: Record<string, string>;
  /** Prepares the empty folder that Redis starts on. */
  prepare?: (redisDir: string) => Promise<void>;
  /** Takes what closes it; unless given, it is closed after the test. */
  onEnd?: (close: () => Promise<void>) => void;
}

/**
 * One fleet for those tests of a file that change nothing but their own threads: begun by the first of them, closed
 * after the last test of the file.
 */
export function shareFleet(): () => Promise<TestFleet> {
  let fleet: Promise<TestFleet> | undefined;
  let close: (() => Promise<void>) | undefined;
  afterAll(() => close?.(), 60_000);
  return () => {
    fleet ??= openFleet({
      onEnd(end) {
        close = end;
      },
    });
    return fleet;
  };
}

/** A private fleet of real processes with scripted-model; nothing of this machine's environment but PATH. */
export async function openFleet(options: FleetOptions = {}): Promise<TestFleet> {
  const dir = await mkdtemp(join(tmpdir(), 'harness-fleet-'));
  await options.prepare?.(dir);
  // Without spares the path of a first message is certain.
  const env = { PATH: process.env.PATH ?? '', LOG_LEVEL: 'warn', HARNESS_SPARES: '0', ...options.env };
  const fleet = await startFleet({
    redisDir: dir,
    port: 0,
    workers: options.workers ?? 1,
    env,
    scripted: true,
  });
  const { onEnd = (close) => onTestFinished(close, 60_000) } = options;
  onEnd(async () => {
    await fleet.close();
    await rm(dir, { recursive: true, force: true });
  });

  const call = async <T>(
    method: string,
    path: string,
    { body, headers = {} }: { body?: object | undefined; headers?: Record<string, string> | undefined } = {},
  ): Promise<T> => {
    const response = await fetch(fleet.url + path, {
      method,
      headers: { ...(body ? { 'content-type': 'application/json' } : {}), ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  return {
    ...fleet,
    get: (path) => call('GET', path),
    post: (path, body, headers) => call('POST', path, { body, headers }),
    thread: async (body = {}) => (await call<{ threadId: string }>('POST', '/v1/threads', { body })).threadId,
    ask: (threadId, input, more) =>
      call('POST', `/v1/threads/${threadId}/runs/wait`, { body: { input, ...more } }),
    send: (threadId, input, headers) =>
      call('POST', `/v1/threads/${threadId}/runs`, { body: { input }, headers }),
    task: (taskId) => call('GET', `/v1/tasks/${taskId}`),
    watch: (path, until, resume) => watch((resume?.from ?? fleet.url) + path, until, resume?.lastEventId),
  };
}

async function watch(
  url: string,
  until: (event: ThreadEvent) => boolean,
  lastEventId?: string,
): Promise<ThreadEvent[]> {
  const seen: ThreadEvent[] = [];
  for await (const event of readEventStream(url, {
    headers: lastEventId ? { 'last-event-id': lastEventId } : {},
  })) {
    seen.push(event);
    if (until(event)) break;
  }
  return seen;
}
