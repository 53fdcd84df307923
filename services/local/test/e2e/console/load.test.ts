/** The console under load: thousands of threads, ten thousand events a minute. */
import { expect, onTestFinished, test } from 'vitest';
import { latencyOf, lists, measureFrames, openLoadSource } from '../../console/console-load.ts';
import { closeBrowserAfterAll, openPage } from '../../console/open-console.ts';
import { openFleet } from '../../open-fleet.ts';

closeBrowserAfterAll();

test('five thousand threads: the list scrolls, filters and finds', async () => {
  const { url, redisUrl } = await openFleet({ workers: 0 });
  const source = await openLoadSource(redisUrl);
  onTestFinished(() => source.close());
  await source.makeThreads(5_000);
  for (const path of Object.values(lists)) expect(await latencyOf(url, path, 5)).toBeLessThan(1_000);

  const { page, problems } = await openPage(url, '/threads');
  await page.getByText('t4999', { exact: true }).waitFor();
  expect(await page.locator('.tbody [role=row]').count()).toBeLessThan(80); // only what is in view
  const table = page.getByRole('table', { name: 'Threads' });
  await expect
    .poll(async () => {
      // Not the wheel, whose last turn may come after the list has changed.
      await table.evaluate((view) => view.scrollTo(0, view.scrollHeight));
      return Number(await table.getAttribute('aria-rowcount'));
    })
    .toBeGreaterThan(500);
  await page.getByRole('button', { name: 'Busy' }).click();
  await expect.poll(() => table.getAttribute('aria-rowcount')).toBe('100');
  await page.getByRole('button', { name: 'All' }).click();
  await page.getByRole('searchbox').fill('number 4905');
  await expect
    .poll(() => page.locator('.tbody [role=row]').allInnerTexts())
    .toEqual([expect.stringContaining('Message number 4905')]);
  expect(problems).toEqual([]);
});

test('ten thousand events a minute: no long task, little work in a frame, and every event is there', async () => {
  const { url, redisUrl } = await openFleet({ workers: 0 });
  const source = await openLoadSource(redisUrl);
  onTestFinished(() => source.close());
  await source.dispatch.threads.create('default', { threadId: 'busy' });
  const { page, problems } = await openPage(url, '/threads/busy');
  await page.getByText('No message yet').waitFor();
  let stored = 0;
  const work = await measureFrames(page, async () => {
    stored = await source.playEvents('busy', { perMinute: 10_000, seconds: 8 });
    await page.locator('.end-line').waitFor();
  });
  expect(work.longestMs).toBeLessThan(50);
  expect(work.p95Ms).toBeLessThan(8);
  await page.getByRole('tab', { name: 'Events' }).click();
  // Those of the turn, and: created, queued, started, the session, completed.
  const shown = await page.getByText(/of [\d,]+ events/).innerText();
  const count = Number(shown.replace(/.* of ([\d,]+) events/, '$1').replace(',', ''));
  expect(count - stored).toBeGreaterThanOrEqual(4);
  expect(count - stored).toBeLessThanOrEqual(6);
  expect(problems).toEqual([]);
});
