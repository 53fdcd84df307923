/** The files of a thread in the console: the tree, a file, what each run changed, upload and delete. */
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { checkAccessibility, closeBrowserAfterAll, openPage } from '../../console/open-console.ts';
import { openFleet, shareFleet, type TestFleet } from '../../open-fleet.ts';
import { hasSandbox, use, work } from '../../workspace/work.ts';

closeBrowserAfterAll();
const fleetOf = shareFleet({ HARNESS_WORKSPACES: 'auto' });

/** Writes a file by REST, as any caller does. */
async function put(
  fleet: TestFleet,
  threadId: string,
  [path, body]: [string, string | Buffer],
): Promise<void> {
  const { status } = await fetch(`${fleet.url}/v1/threads/${threadId}/files/${path}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream' },
    body: new Uint8Array(Buffer.from(body)),
  });
  expect(status).toBe(200);
}

const hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script>';

async function openThread(): Promise<{ fleet: TestFleet; threadId: string }> {
  const fleet = await fleetOf();
  const threadId = await fleet.thread();
  await put(fleet, threadId, ['notes.md', `one\n${hostile}\n\tthree\n`]);
  await put(fleet, threadId, ['src/deep/main.ts', 'export const x = 1;\n']);
  await put(fleet, threadId, ['data.bin', Buffer.from([1, 0, 2])]);
  await put(fleet, threadId, ['large.txt', 'x'.repeat(1_000_001)]);
  return { fleet, threadId };
}

const tree = (page: Page) => page.getByRole('tree', { name: 'Files of the thread' });
const item = (page: Page, name: RegExp) => page.getByRole('treeitem', { name });
const names = async (page: Page) =>
  (await page.locator('[role=treeitem]').allInnerTexts()).map((text) => text.split('\n').at(-2));

test.each(['light', 'dark'] as const)(
  'the tree and a file are shown in the %s theme; text is text, and what is not is downloaded',
  async (theme) => {
    const { fleet, threadId } = await openThread();
    const { page, problems } = await openPage(fleet.url, `/threads/${threadId}`, { theme });
    await page.getByRole('link', { name: '1 file changed: data.bin' }).waitFor();
    // What was there before the first change is not known: it has no diff.
    await page.getByRole('link', { name: '1 file changed: notes.md' }).click();
    await page.getByRole('region', { name: 'Changed paths' }).getByText('notes.md').waitFor();
    await page.getByRole('tab', { name: 'Files' }).click();
    await item(page, /main\.ts/).waitFor();
    expect(await names(page)).toEqual(['src/', 'deep/', 'main.ts', 'data.bin', 'large.txt', 'notes.md']);
    await item(page, /notes\.md/).click();
    const content = page.getByRole('region', { name: 'Content of notes.md' });
    await content.getByText(hostile).waitFor();
    expect(await content.locator('img, script').count()).toBe(0);
    const numbers = content.locator('.line-number');
    expect(await numbers.evaluateAll((all) => all.map((one) => one.getAttribute('data-number')))).toEqual([
      '1',
      '2',
      '3',
    ]);
    await checkAccessibility(page, theme === 'dark' ? 'colours' : undefined);

    await item(page, /data\.bin/).click();
    await page.getByText('BIN file, 3 B: not text').waitFor();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download', exact: true }).click(),
    ]);
    expect(file.suggestedFilename()).toBe('data.bin');
    expect([...(await readFile(await file.path()))]).toEqual([1, 0, 2]);
    await item(page, /large\.txt/).click();
    await page.getByText('shown up to 1 MB').waitFor();
    const [archive] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download all (tar)' }).click(),
    ]);
    expect(archive.suggestedFilename()).toBe(`${threadId}.tar`);
    expect(problems).toEqual([]);
  },
);

test('the keyboard moves through the tree, opens folders and files', async () => {
  const { fleet, threadId } = await openThread();
  const { page, problems } = await openPage(fleet.url, `/threads/${threadId}?view=files`);
  await item(page, /main\.ts/).waitFor();
  await tree(page).focus();
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const active = async () => {
    const id = await tree(page).getAttribute('aria-activedescendant');
    return page.locator(`[id="${id}"]`).getAttribute('title');
  };
  await press('ArrowDown', 'ArrowLeft');
  await expect.poll(() => names(page)).toEqual(['src/', 'data.bin', 'large.txt', 'notes.md']);
  expect(await item(page, /src/).getAttribute('aria-expanded')).toBe('false');
  await press('ArrowRight', 'j', 'j', 'Enter');
  await page.getByRole('region', { name: 'Content of src/deep/main.ts' }).waitFor();
  await expect.poll(active).toBe('src/deep/main.ts');
  await press('ArrowLeft');
  await expect.poll(active).toBe('src/deep');
  await press('End', 'k');
  await expect.poll(active).toBe('large.txt');
  await page.reload(); // the address has what is shown
  await page.getByRole('region', { name: 'Content of src/deep/main.ts' }).waitFor();
  await page.getByRole('searchbox').fill('NOTES');
  await expect.poll(() => names(page)).toEqual(['notes.md']);
  expect(problems).toEqual([]);
});

test('files are uploaded into the chosen folder or dropped, replaced if a person agrees, and deleted', async () => {
  const { fleet, threadId } = await openThread();
  const { page, problems } = await openPage(fleet.url, `/threads/${threadId}?view=files`);
  const upload = (name: string, text: string) =>
    page
      .locator('input[type=file]')
      .setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
  const textOf = async (path: string) => {
    const response = await fetch(`${fleet.url}/v1/threads/${threadId}/files/${path}`);
    return response.ok ? response.text() : response.status;
  };
  const questions: string[] = [];
  page.on('dialog', (dialog) => {
    questions.push(dialog.message());
    void dialog.accept();
  });
  await item(page, /main\.ts/).click();
  await page.getByRole('button', { name: 'Upload into src/deep/' }).waitFor();
  await upload('a b%.txt', 'new\n');
  await page.getByText('The file is uploaded.').waitFor();
  await item(page, /a b%\.txt/).click(); // the event brought it
  await page
    .getByRole('region', { name: /^Content of/ })
    .getByText('new')
    .waitFor();
  await upload('a b%.txt', 'newer\n');
  await page
    .getByRole('region', { name: /^Content of/ })
    .getByText('newer')
    .waitFor();
  await page.getByRole('button', { name: 'Delete file' }).click();
  await expect.poll(() => textOf('src/deep/a%20b%25.txt')).toBe(404);
  await page.getByRole('button', { name: 'Upload', exact: true }).waitFor();

  const data = await page.evaluateHandle(`(() => {
    const data = new DataTransfer();
    data.items.add(new File(['dropped'], 'dropped.txt'));
    return data;
  })()`);
  await page.locator('.split.files').dispatchEvent('drop', { dataTransfer: data });
  await item(page, /dropped\.txt/).waitFor();
  expect(await textOf('dropped.txt')).toBe('dropped');
  await item(page, /src/).first().click();
  await page.getByRole('button', { name: 'Delete folder' }).click();
  await expect.poll(() => textOf('src/deep/main.ts')).toBe(404);
  expect(questions).toEqual([
    'Replace src/deep/a b%.txt?',
    'Delete src/deep/a b%.txt?',
    'Delete the folder src and all in it?',
  ]);
  await page.getByRole('button', { name: 'Changes' }).click();
  await page
    .getByRole('region', { name: 'Changes by a caller' })
    .getByText('src/deep/main.ts (deleted)')
    .waitFor();
  await checkAccessibility(page);
  expect(problems).toEqual([]);
});

test('during a turn a change is refused, as the gateway says it', async () => {
  const { fleet, threadId } = await openThread();
  const { page, problems } = await openPage(fleet.url, `/threads/${threadId}?view=files`, {
    expected: /409/,
  });
  await item(page, /notes\.md/).click();
  await fleet.send(threadId, 'hang:');
  await fleet.watch(`/v1/threads/${threadId}/events?follow=true`, ({ type }) => type === 'run.started');
  page.on('dialog', (dialog) => void dialog.accept());
  await page.getByRole('button', { name: 'Delete file' }).click();
  const refused = page.locator('.toast.tone-bad');
  await refused.getByText(/run .*in progress|in progress.* run/i).waitFor();
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'late.txt', mimeType: 'text/plain', buffer: Buffer.from('late') });
  await refused.getByText(/^late\.txt is not uploaded: /).waitFor();
  await page.getByRole('button', { name: 'Stop the run' }).click();
  const { files } = await fleet.get<{ files: { path: string }[] }>(`/v1/threads/${threadId}/files`);
  expect(files.map(({ path }) => path)).toContain('notes.md');
  expect(files.map(({ path }) => path)).not.toContain('late.txt');
  expect(problems).toEqual([]);
});

test('a person who signed in with a key uploads and downloads', async () => {
  const file = join(await mkdtemp(join(tmpdir(), 'harness-keys-')), 'keys.json');
  const keySha256 = createHash('sha256').update('key-of-writer').digest('hex');
  await writeFile(
    file,
    JSON.stringify([{ id: 'writer', keySha256, tenant: 'default', scopes: ['threads'] }]),
  );
  const env = { HARNESS_WORKSPACES: 'auto', HARNESS_API_KEYS_FILE: file };
  const fleet = await openFleet({ workers: 0, env });
  await fleet.post('/v1/threads', { threadId: 'keyed' }, { authorization: 'Bearer key-of-writer' });
  const { page } = await openPage(fleet.url, '/threads/keyed?view=files');
  await page.getByLabel('API key or access token').fill('key-of-writer');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('No file yet').waitFor();
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('mine') });
  await item(page, /a\.txt/).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download', exact: true }).click(),
  ]);
  expect(await readFile(await download.path(), 'utf8')).toBe('mine');
});

test('many files are a tree of closed folders, of which those in view are in the page', async () => {
  const fleet = await fleetOf();
  const threadId = await fleet.thread();
  const paths = Array.from({ length: 110 }, (_, i) => `${'abc'[i % 3]}/in/${String(i).padStart(3, '0')}.txt`);
  for (const path of paths) await put(fleet, threadId, [path, '']);
  const { page } = await openPage(fleet.url, `/threads/${threadId}?view=files`);
  await page.getByText('110 files').waitFor();
  await expect.poll(() => names(page)).toEqual(['a/', 'b/', 'c/']);
  await page.getByRole('searchbox').fill('txt');
  await expect.poll(() => names(page)).toContain('000.txt');
  expect((await names(page)).length).toBeLessThan(80);
});

test('a thread without files, and one without a workspace, say so', async () => {
  const fleet = await fleetOf();
  const [none, refused] = [await fleet.thread(), await fleet.thread({ workspace: false })];
  const { page, problems } = await openPage(fleet.url, `/threads/${none}?view=files`, { expected: /422/ });
  await page.getByText('No file yet').waitFor();
  await checkAccessibility(page);
  await page.goto(`${fleet.url}/console/threads/${refused}?view=files`);
  await page.getByText('This thread was created without a workspace').waitFor();
  expect(await page.getByRole('button', { name: 'Upload' }).count()).toBe(0);
  expect(problems).toEqual([]);
});

test.runIf(hasSandbox)(
  'a line of the conversation leads to what a run changed; the files are shown as they were after each run',
  async () => {
    const fleet = await openFleet({ env: { HARNESS_WORKSPACES: 'auto' } });
    const threadId = await fleet.thread({ workspace: true });
    const { page, problems } = await openPage(fleet.url, `/threads/${threadId}`);
    const write = (path: string, content: string) => use('Write', { file_path: path, content });
    const { run: first } = await work(
      fleet,
      threadId,
      write('a.txt', 'one\ntwo\n'),
      write('b.txt', 'b\n'),
      'say: x',
    );
    await put(fleet, threadId, ['c.txt', 'by a caller\n']);
    await work(fleet, threadId, use('Read', { file_path: 'a.txt' }), write('a.txt', 'one\n2\n'), 'say: y');
    await page.getByRole('link', { name: '2 files changed: a.txt, b.txt' }).waitFor();
    await page.getByRole('link', { name: '1 file changed: a.txt' }).click();
    const diff = page.getByRole('region', { name: /^Changes by run_/ });
    await diff.locator('ins').waitFor();
    expect((await diff.locator('li').allInnerTexts()).map((line) => line.trim())).toEqual([
      'a.txt',
      '@@ -1,2 +1,2 @@',
      'one',
      '-two',
      '+2',
    ]);
    await checkAccessibility(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await checkAccessibility(page, 'colours');
    await page.getByRole('button', { name: /2 files changed/ }).click();
    await diff.getByText('b.txt (new)').waitFor();

    await page.getByRole('button', { name: 'Files', exact: true }).click();
    await expect.poll(() => names(page)).toEqual(['a.txt', 'b.txt', 'c.txt']);
    await page.getByLabel('Version of the files').selectOption(first.runId);
    await expect.poll(() => names(page)).toEqual(['a.txt', 'b.txt']);
    await item(page, /a\.txt/).click();
    await page.getByRole('region', { name: 'Content of a.txt' }).getByText('two').waitFor();
    expect(await page.getByRole('button', { name: /Upload|Delete file/ }).count()).toBe(0);
    await page.goBack();
    await page.goBack();
    await expect.poll(() => names(page)).toEqual(['a.txt', 'b.txt', 'c.txt']);
    expect(problems).toEqual([]);
  },
);
