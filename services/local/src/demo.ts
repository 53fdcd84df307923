/** `npm run demo`: runs the main use case on a private fleet. Exits with 0 only if every step was seen in the events. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Task, ThreadEvent } from '@harness/contracts';
import { readEventStream, runMain } from '@harness/runtime';
import { bareEnv } from './config.ts';
import { startFleet } from './fleet.ts';
import { createStory } from './story.ts';

const storyLimitMs = 60_000;
const work = [
  'checkin: half way there',
  'call: time__current_time {}',
  'say: the report is ready',
  'reject: 1',
];

runMain(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'harness-demo-'));
  console.log('Starting a private fleet: Redis, scripted-model (NOT a model), a gateway, two workers…');
  const fleet = await startFleet({ redisDir: dir, port: 0, workers: 2, env: bareEnv(), scripted: true });
  try {
    process.exitCode = (await showStory(fleet.url)) ? 0 : 1;
  } finally {
    await fleet.close();
    await rm(dir, { recursive: true, force: true });
  }
});

async function showStory(url: string): Promise<boolean> {
  const call = async <T>(path: string, body?: object): Promise<T> => {
    const init = body && {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    };
    const response = await fetch(url + path, { ...init, signal: AbortSignal.timeout(storyLimitMs) });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  const { threadId } = await call<{ threadId: string }>('/v1/threads', {});
  const story = createStory(threadId);
  const input = `delegate: ${work.join('\\n')}\nsay: A sub-agent is working on it; I will be notified.`;
  console.log(`\nA message is sent to thread ${threadId}:\n${input.replace(/^/gm, '    ')}\n`);
  await call(`/v1/threads/${threadId}/runs`, { input });

  for await (const event of follow(`${url}/v1/threads/${threadId}/events?follow=true&children=true`)) {
    const line = story.see(event);
    if (line) console.log(line);
    if (story.missing().length === 0) break;
  }
  const missing = story.missing();
  if (missing.length > 0) {
    console.error(`\nNot seen within ${storyLimitMs / 1000} s: ${missing.join('; ')}.`);
    return false;
  }
  const task = await call<Task>(`/v1/tasks/${story.taskId()}`);
  const asTold = task.status === 'completed' && task.verdict === 'satisfied' && task.iteration === 2;
  console.log(
    `\nThe task's record: ${task.status}, ${task.verdict}, iteration ${task.iteration} of ${task.maxIterations}.`,
  );
  console.log(asTold ? 'Every step was seen.' : 'The record does not match the events.');
  return asTold;
}

/** Ends without an error when the time is up; the caller then reports the missing steps. */
async function* follow(url: string): AsyncGenerator<ThreadEvent> {
  try {
    yield* readEventStream(url, { signal: AbortSignal.timeout(storyLimitMs) });
  } catch (error) {
    if ((error as Error).name !== 'TimeoutError') throw error;
  }
}
