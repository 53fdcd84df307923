/** The console in a real Chromium: pages that report what goes wrong in them. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, expect, onTestFinished } from 'vitest';
import { closeBrowser, openBrowser } from './browser.ts';

/** A page of the console. */
export interface ConsolePage {
  page: Page;
  /** Errors of scripts, of the console, refusals of the policy, and requests to any other host. */
  problems: string[];
  /** Bytes that the gateway sent, as they went over the wire. */
  bytes(): Promise<number>;
}

/** How to open a page. */
export interface PageOptions {
  theme?: 'light' | 'dark';
  /** Problems that belong to the test. */
  expected?: RegExp;
}

/** Call it once in a file that opens pages: ends Chromium after its last test. */
export function closeBrowserAfterAll(): void {
  afterAll(closeBrowser);
}

/** Opens a path of the console in a context of its own: no cookie, no storage of other tests. */
export async function openPage(url: string, path = '/', options: PageOptions = {}): Promise<ConsolePage> {
  const { theme = 'light', expected } = options;
  const context = await (await openBrowser()).newContext({
    colorScheme: theme,
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(45_000);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const problems: string[] = [];
  const note = (text: string) => {
    if (!expected?.test(text)) problems.push(text);
  };
  page.on('pageerror', (error) => note(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      note(`${message.type()}: ${message.text()}`);
  });
  const { origin } = new URL(url);
  let bytes = 0;
  const sizes: Promise<void>[] = [];
  page.on('requestfinished', (request) => {
    if (new URL(request.url()).origin !== origin && !request.url().startsWith('data:'))
      note(`asked ${request.url()}`);
    if (request.url().includes('/console/'))
      sizes.push(
        request.sizes().then(
          ({ responseBodySize }) => {
            bytes += responseBodySize;
          },
          () => undefined, // the page was closed
        ),
      );
  });
  await page.goto(`${url}/console${path}`);
  await page.locator('main').waitFor();
  return {
    page,
    problems,
    async bytes() {
      await Promise.all(sizes);
      return bytes;
    },
  };
}

/** The rules that depend on the theme. */
const ofColours = { runOnly: ['color-contrast', 'link-in-text-block'] };

/** Fails with every violation that axe finds on the page: WCAG 2.2 AA, and its best practices; or of its colours alone. */
export async function checkAccessibility(page: Page, only?: 'colours'): Promise<void> {
  // axe is evaluated by the browser's own tools: the policy of the page refuses scripts from elsewhere.
  await page.evaluate(axe.source);
  const options = { resultTypes: ['violations'], ...(only && ofColours) };
  const { violations } = await page.evaluate<{ violations: Violation[] }>(
    `axe.run(${JSON.stringify(options)})`,
  );
  expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))])).toEqual([]);
}

interface Violation {
  id: string;
  nodes: { html: string }[];
}
