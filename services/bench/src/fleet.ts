import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Run, ThreadEvent } from '@harness/contracts';
import { type Child, freePort, readEventStream, startChild } from '@harness/runtime';
import { searchPath } from './config.ts';

const mainOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** A running fleet (`npm start`) under measurement. */
export interface BenchFleet {
  url: string;
  /** Process ids of the workers that it started with. */
  workers: number[];
  /** Creates a thread; returns its id. */
  thread(body?: object): Promise<string>;
  /** Sends a message; resolves when it is accepted. */
  send(threadId: string, input: string): Promise<void>;
  /**
   * Sends a message; returns the times of the first agent event and of the result, ms after sending, and the
   * run.
   */
  ask(threadId: string, input: string): Promise<{ firstMs: number; resultMs: number; run: Run }>;
  get<T>(path: string): Promise<T>;
  events(path: string): AsyncGenerator<ThreadEvent>;
  close(): Promise<void>;
}

/** Starts scripted-model in a separate process, for both the fleet and the bare SDK. */
export const startModel = (): Promise<Child<{ url: string }>> =>
  startChild<{ url: string }>({
    name: 'scripted-model',
    main: mainOf('scripted-model/src/main.ts'),
    env: { PATH: searchPath, LOG_LEVEL: 'error' },
  });

/** Runs `npm start` in a temporary folder, with these environment variables. */
export async function startBenchFleet(
  modelUrl: string,
  workers: number,
  settings: Record<string, string>,
): Promise<BenchFleet> {
  const cwd = await mkdtemp(join(tmpdir(), 'harness-bench-'));
  const fleet = await startChild<{ url: string; workers: number[] }>({
    name: 'harness',
    main: mainOf('local/src/start.ts'),
    args: ['--workers', String(workers)],
    cwd,
    env: {
      PATH: searchPath,
      LOG_LEVEL: 'error',
      HARNESS_SPARES: '0',
      PORT: String(await freePort()),
      ANTHROPIC_BASE_URL: modelUrl,
      ANTHROPIC_API_KEY: 'none',
      ...settings,
    },
  });
  const { url } = fleet.ready;
  const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const init = body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {};
    const response = await fetch(url + path, { method, ...init });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  return {
    url,
    workers: fleet.ready.workers,
    get: (path) => call('GET', path),
    events: (path) => readEventStream(url + path),
    thread: async (body = {}) => (await call<{ threadId: string }>('POST', '/v1/threads', body)).threadId,
    async send(threadId, input) {
      await call('POST', `/v1/threads/${threadId}/runs`, { input });
    },
    async ask(threadId, input) {
      const sentAt = performance.now();
      const { runId, streamUrl } = await call<Run & { streamUrl: string }>(
        'POST',
        `/v1/threads/${threadId}/runs`,
        { input },
      );
      let firstMs = Number.NaN;
      for await (const event of readEventStream(url + streamUrl)) {
        if (event.type.startsWith('agent.') && Number.isNaN(firstMs)) firstMs = performance.now() - sentAt;
      }
      const resultMs = performance.now() - sentAt;
      return { firstMs, resultMs, run: await call<Run>('GET', `/v1/threads/${threadId}/runs/${runId}`) };
    },
    async close() {
      await fleet.end(60_000);
      await rm(cwd, { recursive: true, force: true });
    },
  };
}
