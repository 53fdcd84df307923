import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bareEnv } from '../../src/config.ts';
import { startFleet } from '../../src/fleet.ts';
import { closeBrowser, openBrowser } from '../console/browser.ts';
import { latencyOf, lists, measureFrames, openLoadSource } from '../console/console-load.ts';
import type { SoakOptions } from './soak-options.ts';

/** A list of this many threads may take this much longer than one of a hundred. */
const mostTimes = 3;
const counts = [100, 5_000, 100_000];

/**
 * The console at a hundred, five thousand and a hundred thousand threads, and at ten thousand events a minute for minutes
 * (default: 1). Throws when a list becomes slow with their number, or a task of the page is long.
 */
export async function soakWithConsole({ minutes = 1 }: SoakOptions): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'harness-console-'));
  const env = { ...bareEnv(), HARNESS_SPARES: '0' };
  const fleet = await startFleet({ redisDir: dir, port: 0, workers: 0, env, scripted: true });
  const source = await openLoadSource(fleet.redisUrl);
  const browser = await openBrowser();
  try {
    const before = new Map<string, number>();
    for (const count of counts) {
      const startedAt = performance.now();
      await source.makeThreads(count);
      console.log(`${count} threads, made in ${Math.round((performance.now() - startedAt) / 1_000)} s`);
      for (const [name, path] of Object.entries(lists)) {
        const ms = await latencyOf(fleet.url, path, 30);
        console.log(`  list ${name.padEnd(10)} ${ms.toFixed(1)} ms (median)`);
        // The text is looked for in all of a hundred threads, and in a thousand of more.
        if (name === 'text') continue;
        const first = before.get(name) ?? ms;
        before.set(name, first);
        if (ms > mostTimes * first + 5)
          throw new Error(
            `The list "${name}" takes ${ms} ms at ${count} threads, and ${first} ms at ${counts[0]}.`,
          );
      }
    }
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    const shownAt = performance.now();
    await page.goto(`${fleet.url}/console/threads`);
    await page.locator('.tbody [role=row]').first().waitFor();
    console.log(`The page of threads is there after ${Math.round(performance.now() - shownAt)} ms`);
    await source.dispatch.threads.create('default', { threadId: 'busy' });
    await page.goto(`${fleet.url}/console/threads/busy`);
    await page.getByText('No message yet').waitFor();
    const work = await measureFrames(page, () =>
      source.playEvents('busy', { perMinute: 10_000, seconds: minutes * 60 }),
    );
    console.log(
      `${10_000 * minutes} events: longest task ${work.longestMs.toFixed(1)} ms, script and layout p95 ${work.p95Ms.toFixed(1)} ms a frame`,
    );
    if (work.longestMs >= 50) throw new Error('A task of the page took 50 ms or longer.');
  } finally {
    await closeBrowser();
    await source.close();
    await fleet.close();
    await rm(dir, { recursive: true, force: true });
  }
}
