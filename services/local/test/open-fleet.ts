import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Run, Task, ThreadEvent } from '@harness/contracts';
import { readEventStream } from '@harness/runtime';
import { afterAll, onTestFinished } from 'vitest';
import { type Fleet, startFleet } from '../src/fleet.ts';

export interface TestFleet extends Fleet {
  thread(body?: object): Promise<string>;
  /** Sends a message and waits for the end of its run. */
  ask(threadId: string, input: string, more?: object): Promise<Run>;
  send(threadId: string, input: string, headers?: Record<string, string>): Promise<Run>;
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body?: object, headers?: Record<string, string>): Promise<T>;
  /** Reads the events of a thread until one matches; optionally after an event, and from another gateway. */
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
  /** Gets the function that closes the fleet. Without it, the fleet is closed after the test. */
  onEnd?: (close: () => Promise<void>) => void;
}

/**
 * One fleet for the tests of a file that change only their own threads: opened by the first of them, closed after the
 * last test of the file.
 */
export function shareFleet(env: Record<string, string> = {}): () => Promise<TestFleet> {
  let fleet: Promise<TestFleet> | undefined;
  let close: (() => Promise<void>) | undefined;
  afterAll(() => close?.(), 60_000);
  return () => {
    fleet ??= openFleet({
      env,
      onEnd(end) {
        close = end;
      },
    });
    return fleet;
  };
}

/** Opens a private fleet of real processes with scripted-model; of the environment they get only PATH. */
export async function openFleet(options: FleetOptions = {}): Promise<TestFleet> {
  const dir = await mkdtemp(join(tmpdir(), 'harness-fleet-'));
  await options.prepare?.(dir);
  // Without spares a first message always has a cold session.
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
