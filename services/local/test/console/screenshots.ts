/** Makes the pictures of the console's README: a fleet at work for a minute, seen in Chromium. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { bareEnv } from '../../src/config.ts';
import { startFleet } from '../../src/fleet.ts';
import { closeBrowser, openBrowser } from './browser.ts';

const folder = join(import.meta.dirname, '..', '..', '..', 'console', 'screenshots');
const workMs = 60_000;

const dir = await mkdtemp(join(tmpdir(), 'harness-screenshots-'));
const env = { ...bareEnv(), HARNESS_SPARES: '1' };
const fleet = await startFleet({ redisDir: dir, port: 0, workers: 1, env, scripted: true });
try {
  await mkdir(folder, { recursive: true });
  await tellStory();
  const browser = await openBrowser();
  const pageIn = (colorScheme: 'light' | 'dark') =>
    browser.newPage({ colorScheme, viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
  const [light, dark] = [await pageIn('light'), await pageIn('dark')];
  await light.goto(`${fleet.url}/console/`);
  await keepBusy(workMs);
  await picture(light, 'overview-light');
  await dark.goto(`${fleet.url}/console/threads/release-time`);
  await dark.locator('.end-line').click();
  await dark.locator('.tool-line').first().click();
  await dark.locator('h1').click();
  await picture(dark, 'thread-dark');
  for (const [path, name] of [
    ['/threads', 'threads-light'],
    ['/tasks', 'tasks-light'],
    ['/workers', 'workers-light'],
    ['/tools?tool=bus__submit_task', 'tools-light'],
  ] as const) {
    await light.goto(`${fleet.url}/console${path}`);
    await picture(light, name);
  }
} finally {
  await closeBrowser();
  await fleet.close();
  await rm(dir, { recursive: true, force: true });
}

async function picture(page: Page, name: string): Promise<void> {
  await setTimeout(1_500); // polls and layout settle; a picture cannot be awaited
  await page.screenshot({ path: join(folder, `${name}.png`) });
  console.log(`${name}.png`);
}

async function post<T>(path: string, body: object): Promise<T> {
  const response = await fetch(fleet.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await response.json()) as T;
}

async function ask(threadId: string, input: string): Promise<void> {
  await post('/v1/threads', { threadId, ifExists: 'doNothing' });
  await post(`/v1/threads/${threadId}/runs/wait`, { input });
}

/** Something of everything. */
async function tellStory(): Promise<void> {
  await ask(
    'release-time',
    'say: I look at the time of the release first.\ncall: time__current_time {"timezone": "Europe/Berlin"}\nsleep: 400\ncall: time__current_time {"timezone": "America/New_York"}\nsay: The notes are for this afternoon: the morning of New York.',
  );
  await ask('release-notes', 'delegate: checkin: read 41 commits\\nsay: 12 features, 9 fixes\\nreject: 1');
  await ask('release-notes', 'say: Published: 12 features and 9 fixes.');
  await ask('customer-4711', 'say: Your invoice is on its way.');
  await ask('nightly-report', 'fail: 400');
  await post('/v1/bus/tasks', {
    taskId: 'render-video-17',
    payload: { file: 'talk.mp4' },
    requires: ['gpu'],
  });
  await post('/v1/bus/tasks', { taskId: 'print-labels' });
  await post('/v1/bus/workers', { name: 'alice' });
  const { lease } = await post<{ lease: string }>('/v1/bus/workers/alice/poll', { timeoutMs: 0 });
  await post('/v1/bus/tasks/print-labels/ack', { name: 'alice' });
  await post('/v1/bus/tasks/print-labels/failed', { reason: 'The printer has no paper', lease });
}

/** A few conversations at once, for a time. */
async function keepBusy(ms: number): Promise<void> {
  const until = Date.now() + ms;
  const talk = async (threadId: string) => {
    for (let n = 1; Date.now() < until; n++) {
      await ask(threadId, `call: time__current_time {}\nsleep: ${100 + ((n * 137) % 400)}\nsay: Answer ${n}`);
    }
  };
  await Promise.all(['chat-web', 'chat-phone', 'chat-mail'].map(talk));
}
