/** What an operator does in the console, at a live fleet. */
import { expect, test } from 'vitest';
import { checkAccessibility, closeBrowserAfterAll, openPage } from '../../console/open-console.ts';
import { openFleet, shareFleet } from '../../open-fleet.ts';

closeBrowserAfterAll();
const fleetOf = shareFleet();

test('a tool is tried with a form made from its schema; its failures are read', async () => {
  const { url } = await fleetOf();
  const { page, problems } = await openPage(url, '/tools', { expected: /422|Failed to load/ });
  await page.getByRole('searchbox').fill('current_time');
  await page.getByRole('button', { name: 'time__current_time' }).click();
  const zone = page.getByRole('textbox', { name: 'timezone' });
  await zone.fill('Europe/Berlin');
  await page.getByRole('button', { name: 'Call' }).click();
  await page.getByText('It ran').waitFor();
  await page
    .getByLabel('Result', { exact: true })
    .getByText(/ is \w+day, /)
    .waitFor();
  await zone.fill('Nowhere/Land');
  await page.getByRole('button', { name: 'Call' }).click();
  await page.getByText(/The tool failed|invalid_tool_input/).waitFor();
  expect(problems).toEqual([]);
});

test('a plugin is turned off and on, for all', async () => {
  const fleet = await fleetOf();
  const { page } = await openPage(fleet.url, '/tools?view=plugins');
  const forAll = page.getByRole('checkbox', { name: 'time for all tenants' });
  const names = async () =>
    (await fleet.get<{ tools: { name: string }[] }>('/v1/tools')).tools.map(({ name }) => name);
  await forAll.click();
  await expect.poll(names).not.toContain('time__current_time');
  await expect.poll(() => forAll.isChecked()).toBe(false);
  await page.getByText('disabled').waitFor();
  await forAll.click();
  await expect.poll(names).toContain('time__current_time');
});

test('a dead letter is put back into the queue', async () => {
  const fleet = await fleetOf();
  await fleet.post('/v1/bus/tasks', { taskId: 'letter', payload: { page: 1 } });
  await fleet.post('/v1/bus/workers', { name: 'bob' });
  const { lease } = await fleet.post<{ lease: string }>('/v1/bus/workers/bob/poll', { timeoutMs: 0 });
  await fleet.post('/v1/bus/tasks/letter/ack', { name: 'bob' });
  await fleet.post('/v1/bus/tasks/letter/failed', { reason: 'no ink', lease });
  const { page } = await openPage(fleet.url, '/bus?state=blocked');
  // By its events: the page reads by itself every 30 s only.
  await page.getByText('0 queued').waitFor();
  await fleet.post('/v1/bus/tasks', { taskId: 'parcel', payload: {} });
  await page.getByText('1 queued').waitFor({ timeout: 20_000 });
  await page.getByRole('button', { name: 'letter', exact: true }).click();
  await page.getByLabel('Payload').getByText('"page": 1').waitFor();
  await page.getByRole('button', { name: 'Retry' }).click();
  await page.getByText('The task is in the queue again.').waitFor();
  const task = await fleet.get<{ state: string }>('/v1/bus/tasks/letter');
  expect(task.state).toBe('queued');
  await page.getByRole('tab', { name: 'Workers' }).click();
  await page.getByRole('cell', { name: 'bob', exact: true }).waitFor();
});

test('delegated work is a tree with its reviews, and is cancelled with what is below it', async () => {
  const fleet = await fleetOf();
  const threadId = await fleet.thread();
  await fleet.send(threadId, 'delegate: say: a draft\\nreject: 1');
  const { page } = await openPage(fleet.url, '/tasks');
  await page.getByText('satisfied').waitFor();
  const followed = page.waitForResponse((response) =>
    response.url().includes(`/v1/threads/${threadId}/events?children=true`),
  );
  await page.getByRole('button', { name: /say: a draft/ }).click();
  expect((await followed).status()).toBe(200);
  const panel = page.getByRole('complementary', { name: 'The chosen task' });
  await panel.getByText(/sent back:/).waitFor();
  await panel.getByText('accepted by the review').waitFor();

  await fleet.post('/v1/tasks', { prompt: 'delegate: hang:\nhang:' });
  await page.getByRole('button', { name: /delegate: hang:/ }).click();
  page.on('dialog', (dialog) => void dialog.accept());
  await panel.getByRole('button', { name: 'Cancel' }).click();
  await panel.getByText('cancelled').first().waitFor();
  const { tasks } = await fleet.get<{ tasks: { status: string; prompt: string }[] }>('/v1/tasks');
  expect(tasks.filter(({ prompt }) => prompt.includes('hang')).map(({ status }) => status)).not.toContain(
    'working',
  );
});

test('threads are found by state, text and time; a row leads to its thread', async () => {
  const fleet = await fleetOf();
  await fleet.thread({ threadId: 'haystack-1' });
  await fleet.thread({ threadId: 'haystack-2', metadata: { needle: 'yes' } });
  await fleet.ask('haystack-1', 'fail: 400');
  const { page } = await openPage(fleet.url, '/threads');
  const rows = () => page.locator('.tbody [role=row]').allInnerTexts();
  await page.getByRole('button', { name: 'Error', exact: true }).click();
  await expect.poll(rows).toEqual([expect.stringContaining('haystack-1')]);
  await page.getByRole('button', { name: 'All' }).click();
  await page.getByRole('searchbox').fill('needle');
  await expect.poll(rows).toEqual([expect.stringContaining('haystack-2')]);
  expect(page.url()).toContain('q=needle');
  await page.reload();
  await expect.poll(rows).toEqual([expect.stringContaining('haystack-2')]);
  await page.getByRole('searchbox').fill('');
  const metadata = page.getByLabel('A field of the metadata and its value');
  await metadata.fill('needle=no');
  await metadata.press('Enter');
  await expect.poll(rows).toEqual([]);
  await metadata.fill('needle=yes');
  await metadata.press('Enter');
  await expect.poll(rows).toEqual([expect.stringContaining('haystack-2')]);
  await page.getByLabel('Time').selectOption({ label: 'Last hour' });
  await page.waitForURL(/hours=1/);
  await expect.poll(rows).toEqual([expect.stringContaining('haystack-2')]);
  await page.getByRole('link', { name: 'haystack-2' }).click();
  await page.getByRole('heading', { name: 'haystack-2' }).waitFor();
  page.on('dialog', (dialog) => void dialog.accept());
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { name: 'Threads' }).waitFor();
  await expect(fleet.get('/v1/threads/haystack-2')).rejects.toThrow('404');
});

test('a search that settles late does not lead back from a thread that was opened meanwhile', async () => {
  const fleet = await fleetOf();
  await fleet.thread({ threadId: 'opened-at-once' });
  const { page } = await openPage(fleet.url, '/threads');
  await page.clock.install();
  const link = page.getByRole('link', { name: 'opened-at-once' });
  await link.waitFor();
  // The list stays until the code of the thread's page has come.
  const held = Promise.withResolvers<void>();
  await page.route(/\/thread-page-.*\.js/, (route) => held.promise.then(() => route.continue()));
  await page.clock.pauseAt(Date.now() + 60_000);
  await page.getByRole('searchbox').fill('opened');
  await link.click();
  await page.clock.runFor(1_000);
  held.resolve();
  await page.getByRole('heading', { name: 'opened-at-once' }).waitFor();
  expect(page.url()).toMatch(/\/threads\/opened-at-once$/);
});

test('a question of a tool is answered in a form made from its schema, or declined', async () => {
  const plugin = new URL('../../asking-plugin.ts', import.meta.url).pathname;
  const fleet = await openFleet({ env: { HARNESS_PLUGINS: plugin } });
  const threadId = await fleet.thread();
  const { page, problems } = await openPage(fleet.url, `/threads/${threadId}`);
  const ask = async () => {
    await page.getByLabel('Message or command').fill('call: travel__book {}');
    await page.getByLabel('Message or command').press('Enter');
    const form = page.getByRole('form', { name: 'A tool asks' });
    await form.getByText('Where to?').waitFor();
    return form;
  };
  const form = await ask();
  await checkAccessibility(page);
  await form.getByRole('textbox', { name: 'city' }).fill('Rome');
  await form.getByRole('spinbutton', { name: 'nights' }).fill('3');
  await form.getByRole('button', { name: 'Answer' }).click();
  await page.getByText('3 nights in Rome').first().waitFor();
  await expect.poll(() => form.count()).toBe(0);
  await (await ask()).getByRole('button', { name: 'Decline' }).click();
  await page.getByText('not booked: decline').first().waitFor();
  expect(problems).toEqual([]);
});

test('a worker shows the threads whose sessions it holds, and is drained', async () => {
  const fleet = await openFleet();
  await fleet.thread({ threadId: 'held' });
  await fleet.ask('held', 'say: hello');
  const { page } = await openPage(fleet.url, '/workers');
  await page.getByRole('list', { name: 'Sessions by thread' }).getByRole('link', { name: 'held' }).waitFor();
  page.on('dialog', (dialog) => void dialog.accept());
  await page.getByRole('button', { name: 'Drain' }).click();
  await page.getByText('No worker is running').waitFor();
  await page.goto(`${fleet.url}/console/audit`);
  await page.getByText('drainWorker').waitFor();
});
