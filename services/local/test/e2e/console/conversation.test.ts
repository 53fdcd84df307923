/** One thread in the console: what is said, called and measured, live, and through everything that breaks. */
import { expect, onTestFinished, test } from 'vitest';
import { type ConsolePage, closeBrowserAfterAll, openPage } from '../../console/open-console.ts';
import { createRandom } from '../../faults/random.ts';
import { openProxy } from '../../faults/tcp-proxy.ts';
import { openFleet, shareFleet } from '../../open-fleet.ts';

closeBrowserAfterAll();
const fleetOf = shareFleet();

/** Types a message or command, and sends it. */
async function say({ page }: ConsolePage, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message or command' }).fill(text);
  await page.keyboard.press('Enter');
}

const said = ({ page }: ConsolePage) => page.locator('.said').allInnerTexts();

test('a message is sent, its answer streams, its calls show arguments, results and times', async () => {
  const fleet = await fleetOf();
  const opened = await openPage(fleet.url, '/threads');
  const { page, problems } = opened;
  await page.getByRole('button', { name: 'New thread' }).click();
  await page.getByText('No message yet').waitFor();
  await say(opened, 'stream: 300\ncall: time__current_time {"timezone": "Europe/Berlin"}\nsay: Done.');
  await page.locator('.said.live').waitFor();
  await page.getByText('Done.', { exact: true }).waitFor();
  await page.getByRole('button', { name: /time__current_time/ }).click();
  await page.getByLabel('Arguments of time__current_time').getByText('Europe/Berlin').waitFor();
  await page
    .getByLabel('Result of time__current_time')
    .getByText(/ is \w+day, /)
    .waitFor();
  await page.getByRole('button', { name: /^success/ }).click();
  const parts = await page
    .getByRole('list', { name: /^Times of run/ })
    .locator('li')
    .allInnerTexts();
  expect(parts.map((text) => text.split('\n')[0])).toEqual([
    'Queue',
    expect.stringMatching(/^Session \(/),
    'Model',
    'time__current_time',
    'Model',
  ]);
  await page.getByRole('tab', { name: 'Events' }).click();
  await page.getByRole('button', { name: /run\.completed/ }).click();
  await page.getByLabel('Data of the event').getByText('"status": "success"').waitFor();
  await page.getByRole('tab', { name: 'Turns' }).click();
  await page.getByRole('button', { name: /run_/ }).waitFor();
  expect(problems).toEqual([]);
});

test('output of a model or a tool is shown as text, whatever it looks like', async () => {
  const fleet = await fleetOf();
  const threadId = await fleet.thread();
  const hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script><b>bold</b>';
  await fleet.ask(threadId, `say: ${hostile}`);
  const { page, problems } = await openPage(fleet.url, `/threads/${threadId}`);
  await page.locator('.said').getByText(hostile).waitFor();
  expect(await page.locator('.feed img, .feed script, .feed b').count()).toBe(0);
  expect(await page.title()).toContain(threadId);
  expect(problems).toEqual([]);
});

test('a run is stopped, interrupted by another message, and waiting ones are cancelled', async () => {
  const fleet = await fleetOf();
  const threadId = await fleet.thread();
  const opened = await openPage(fleet.url, `/threads/${threadId}`);
  const { page } = opened;
  await page.getByText('No message yet').waitFor();
  await say(opened, 'hang:');
  await page.getByRole('button', { name: 'Stop the run' }).click();
  await page
    .locator('.end .state')
    .getByText(/interrupted|cancelled/)
    .waitFor();

  await say(opened, 'hang:');
  await expect.poll(() => page.locator('.asked').count()).toBe(2);
  await page.getByLabel('While a run is in progress').selectOption('interrupt');
  await say(opened, 'say: instead');
  await page.locator('.said').getByText('instead').waitFor();
  await expect.poll(() => page.locator('.end').count()).toBe(3);

  await say(opened, 'hang:');
  await expect.poll(() => page.locator('.asked').count()).toBe(4);
  await page.getByLabel('While a run is in progress').selectOption('enqueue');
  await say(opened, 'say: never');
  await page.getByRole('button', { name: 'Cancel 1 waiting' }).click();
  await page.getByRole('button', { name: 'Stop the run' }).click();
  await expect.poll(() => page.locator('.end').count()).toBe(5);
  expect(await said(opened)).toEqual(['instead']);
});

test('a command is completed with Tab and shows its output; a session is started in advance', async () => {
  const fleet = await fleetOf();
  const threadId = await fleet.thread();
  const opened = await openPage(fleet.url, `/threads/${threadId}`);
  const { page } = opened;
  await page.getByRole('button', { name: 'Prewarm' }).click();
  await page.getByText(/session warm on/).waitFor();
  const box = page.getByRole('textbox', { name: 'Message or command' });
  await box.fill('/mod');
  await page.getByRole('list', { name: 'Completions' }).getByText('/model').waitFor();
  await page.keyboard.press('Tab');
  expect(await box.inputValue()).toBe('/model ');
  await box.press('s');
  await say(opened, '/model small');
  await page.getByLabel('Output of the command').getByText(/small/).waitFor();
  await page.locator('header .chip').getByText('small').waitFor();
});

test('while the gateway is killed and starts again, nothing is missing, nothing is doubled, and what is sent arrives once', async () => {
  const fleet = await openFleet();
  const threadId = await fleet.thread();
  const opened = await openPage(fleet.url, `/threads/${threadId}`, { expected: /ERR_|Failed to load/ });
  const { page, problems } = opened;
  await page.getByText('No message yet').waitFor();
  await say(opened, 'say: before');
  await page.locator('.said').getByText('before').waitFor();

  const port = Number(new URL(fleet.url).port);
  fleet.gateway.process.kill('SIGKILL');
  await fleet.gateway.exited;
  await page.getByText(/Nothing is lost/).waitFor();
  await page.getByRole('textbox', { name: 'Message or command' }).fill('say: while it was away');
  await page.keyboard.press('Enter');
  await fleet.addGateway(port);
  await page.locator('.said').getByText('while it was away').waitFor();
  await expect.poll(() => page.getByText(/Nothing is lost/).count()).toBe(0);
  expect(await said(opened)).toEqual(['before', 'while it was away']);
  expect(await page.locator('.asked').count()).toBe(2);

  await page.reload();
  await page.locator('.said').getByText('while it was away').waitFor();
  expect(await said(opened)).toEqual(['before', 'while it was away']);
  expect(problems).toEqual([]);
});

test('a page whose network was silent for a time continues where it stopped', async () => {
  const fleet = await fleetOf();
  const threadId = await fleet.thread();
  const { host } = new URL(fleet.url);
  const proxy = await openProxy({ target: `redis://${host}`, random: createRandom(1) });
  onTestFinished(() => proxy.close());
  const opened = await openPage(proxy.url.replace('redis:', 'http:'), `/threads/${threadId}`, {
    expected: /ERR_|Failed to load/,
  });
  const { page, problems } = opened;
  await page.getByText('No message yet').waitFor();
  await fleet.ask(threadId, 'say: one');
  await page.locator('.said').getByText('one').waitFor();
  proxy.mode({ kind: 'blackhole' });
  await fleet.ask(threadId, 'say: two');
  await fleet.ask(threadId, 'call: time__current_time {}\nsay: three');
  expect(await said(opened)).toEqual(['one']);
  proxy.mode({ kind: 'pass' });
  proxy.reset();
  await page.locator('.said').getByText('three').waitFor();
  expect(await said(opened)).toEqual(['one', 'two', 'three']);
  expect(await page.locator('.tool').count()).toBe(1);
  expect(problems).toEqual([]);
});
