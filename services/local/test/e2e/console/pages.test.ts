/** Every page, in both themes: it shows what there is, calls no other host, and has no violation that axe finds. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkAccessibility, closeBrowserAfterAll, openPage } from '../../console/open-console.ts';
import { shareFleet, type TestFleet } from '../../open-fleet.ts';

closeBrowserAfterAll();

const folder = await mkdtemp(join(tmpdir(), 'harness-upstreams-'));
const upstreams = join(folder, 'upstreams.json');
const server = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-filesystem/package.json');
const files = { command: process.execPath, args: [join(server, '..', 'dist', 'index.js'), folder] };
await writeFile(upstreams, JSON.stringify({ mcpServers: { files } }));
const agents = await mkdtemp(join(tmpdir(), 'harness-agents-'));
await writeFile(join(agents, 'clerk.md'), 'An agent without a name.');
const fleetOf = shareFleet({ HARNESS_UPSTREAMS_FILE: upstreams, HARNESS_AGENTS_DIR: agents });

let prepared: Promise<TestFleet> | undefined;

/** A fleet in which something of everything has happened. */
function openPrepared(): Promise<TestFleet> {
  prepared ??= (async () => {
    const fleet = await fleetOf();
    await fleet.thread({ threadId: 'spoken', metadata: { customer: 42 } });
    await fleet.ask('spoken', 'say: Let me look.\ncall: time__current_time {}\nsay: It is late.');
    await fleet.thread({ threadId: 'broken' });
    await fleet.ask('broken', 'fail: 400');
    await fleet.post('/v1/tasks', { prompt: 'say: a report' });
    await fleet.post('/v1/bus/tasks', { taskId: 'waits', payload: { for: 'a worker' } });
    await fleet.post('/v1/bus/tasks', { taskId: 'stuck' });
    await fleet.post('/v1/bus/workers', { name: 'alice', labels: ['gpu'] });
    const poll = await fleet.post<{ taskId: string; lease: string }>('/v1/bus/workers/alice/poll', {
      timeoutMs: 0,
    });
    await fleet.post(`/v1/bus/tasks/${poll.taskId}/ack`, { name: 'alice' });
    await fleet.post(`/v1/bus/tasks/${poll.taskId}/failed`, { reason: 'no disk', lease: poll.lease });
    return fleet;
  })();
  return prepared;
}

const pages: [path: string, shows: string | RegExp][] = [
  ['/', /Run failed/],
  ['/threads', 'spoken'],
  ['/threads/spoken', 'It is late.'],
  ['/tasks', 'say: a report'],
  ['/workers', /Sessions/],
  ['/bus', 'no disk'],
  ['/tools', 'time__current_time'],
  ['/tools?tool=time__current_time', 'timezone'],
  ['/tools?view=plugins', 'validation'],
  ['/tools?view=lock', 'There is no tool lock'],
  ['/tools?view=skills', 'No skill'],
  ['/upstreams?upstream=files', /files__read_text_file/],
  ['/audit', 'createThread'],
];

test.each(['light', 'dark'] as const)(
  'every page is shown in the %s theme, without a violation that axe finds',
  async (theme) => {
    const { url } = await openPrepared();
    const { page, problems } = await openPage(url, '/', { theme });
    for (const [path, shows] of pages) {
      await page.goto(`${url}/console${path}`);
      await page.getByText(shows).first().waitFor();
      await checkAccessibility(page, theme === 'dark' ? 'colours' : undefined);
      expect([path, problems]).toEqual([path, []]);
    }
  },
);

test('the first load has less than 250 KB, compressed, and is not loaded again', async () => {
  const { url } = await openPrepared();
  const { page, bytes } = await openPage(url, '/');
  await page.getByText('Throughput').waitFor();
  const first = await bytes();
  expect(first).toBeGreaterThan(50_000);
  expect(first).toBeLessThan(250_000);
  const file = await page.locator('script[type=module]').getAttribute('src');
  const answers = await Promise.all(
    ['/console/threads', file].map(async (path) => (await fetch(url + path)).headers.get('cache-control')),
  );
  expect(answers).toEqual(['no-cache', 'public, max-age=31536000, immutable']);
});

test('the overview says whether the fleet is healthy, and leads to what needs a person', async () => {
  const { url } = await openPrepared();
  const { page } = await openPage(url, '/');
  await page.getByText('Healthy').waitFor();
  const needs = page.getByRole('region', { name: 'Needs you' });
  await needs.getByText('Blocked task').waitFor();
  await needs.getByText('Run failed').click();
  await page.getByRole('heading', { name: 'broken' }).waitFor();
  expect(await page.locator('.end .failure').innerText()).toContain('model_error');
  await page.goBack();
  await needs.getByText('Agent warning').click();
  await page
    .getByRole('cell', { name: /clerk\.md/ })
    .first()
    .waitFor();
});

test('the theme is a choice that stays; the keyboard reaches every page and row', async () => {
  const { url } = await openPrepared();
  const { page, problems } = await openPage(url, '/threads');
  await page.getByText('spoken').first().waitFor();
  const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
  const light = await background();
  await page.getByRole('button', { name: 'System' }).click();
  await page.getByRole('button', { name: 'Light' }).click();
  const dark = await background();
  expect(dark).not.toBe(light);
  await page.reload();
  await page.getByText('spoken').first().waitFor();
  expect(await background()).toBe(dark);

  await page.keyboard.press('g');
  await page.keyboard.press('b');
  await page.getByRole('heading', { name: 'Bus' }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  await page.getByText('spoken').first().waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('spok');
  await expect.poll(() => page.locator('.tbody [role=row]').count()).toBe(1);
  await page.locator('h1').click();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'spoken' }).waitFor();
  await page.keyboard.press('?');
  await page.getByText('Next and previous row').waitFor();
  await page.keyboard.press('Escape');
  expect(problems).toEqual([]);
});
