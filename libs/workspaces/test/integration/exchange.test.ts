import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { type Header, pack } from 'tar-stream';
import { expect, test } from 'vitest';
import { readTar } from '../../src/exchange/tar.ts';
import { bytesOf, limits, openStore } from '../fixture.ts';

const put = (path: string, text: string | Buffer) => ({ path, put: Buffer.from(text) });
const bounds = { bytes: 100_000, files: 100 };

async function archiveOf(...entries: [Partial<Header> & { name: string }, string?][]): Promise<Buffer> {
  const archive = pack();
  for (const [header, text = ''] of entries) archive.entry(header, text);
  archive.finalize();
  return bytesOf(archive as AsyncIterable<Uint8Array>);
}

const read = (bytes: Buffer) => readTar(Readable.from([bytes]), bounds);

test('a version as tar is read by tar, and makes the same version again', async () => {
  const { files, work, another } = openStore();
  mkdirSync(join(work, 'sub', 'empty'), { recursive: true });
  writeFileSync(join(work, 'sub', 'run.sh'), '#!/bin/sh\n');
  chmodSync(join(work, 'sub', 'run.sh'), 0o755);
  writeFileSync(join(work, `${'long'.repeat(50)}.txt`), 'x'.repeat(70_000));
  writeFileSync(join(work, 'ünï'), '');
  const { version } = await files.snapshot(work, { limits });
  const bytes = await bytesOf(await files.tar(version));
  expect(bytes).toEqual(await bytesOf(await files.tar(version)));
  const out = another();
  execFileSync('tar', ['-x', '-C', out], { input: bytes });
  expect((await files.snapshot(out, { limits })).version).toBe(version);
  expect((await files.edit(undefined, read(bytes), limits)).version).toBe(version);
});

test('links are left out of an archive, and refused in one, as devices and paths out of the folder are', async () => {
  const { files, work } = openStore();
  symlinkSync('/etc/passwd', join(work, 'link'));
  writeFileSync(join(work, 'a'), 'a');
  const { version } = await files.snapshot(work, { limits });
  const listed = execFileSync('tar', ['-t'], { input: await bytesOf(await files.tar(version)) });
  expect(`${listed}`).toBe('a\n');
  const tricks = [
    archiveOf([{ name: 'a', type: 'symlink', linkname: '/etc/passwd' }]),
    archiveOf([{ name: 'a', type: 'link', linkname: '/etc/passwd' }]),
    archiveOf([{ name: 'a', type: 'character-device' }]),
    archiveOf([{ name: 'a', type: 'fifo' }]),
    archiveOf([{ name: '/a' }, 'x']),
    archiveOf([{ name: '../a' }, 'x']),
    archiveOf([{ name: 'b/../../a' }, 'x']),
    archiveOf([{ name: 'a' }, 'x'], [{ name: 'a/b' }, 'x']),
    Promise.resolve(Buffer.from('this is no archive'.repeat(100))),
  ];
  for (const trick of tricks) {
    const edit = files.edit(undefined, read(await trick), limits);
    await expect(edit).rejects.toMatchObject({ code: 'invalid_request' });
  }
});

test('an archive is bounded by what it expands to, before that is read', async () => {
  const { files } = openStore();
  const large = await archiveOf([{ name: 'a' }, 'x'.repeat(60_000)], [{ name: 'b' }, 'x'.repeat(60_000)]);
  await expect(files.edit(undefined, read(large), limits)).rejects.toMatchObject({ code: 'body_too_large' });
  const many = await archiveOf(
    ...Array.from({ length: 101 }, (_, n): [{ name: string }, string] => [{ name: `f${n}` }, '']),
  );
  await expect(files.edit(undefined, read(many), limits)).rejects.toMatchObject({ code: 'body_too_large' });
});

test('whatever bytes an archive has, it becomes a version or an error that says so', async () => {
  const whole = await archiveOf([{ name: 'dir/', type: 'directory' }], [{ name: 'dir/a' }, 'hello']);
  const { files } = openStore();
  await fc.assert(
    fc.asyncProperty(fc.nat(whole.length - 1), fc.nat(255), async (at, value) => {
      const bytes = Buffer.from(whole);
      bytes[at] = value;
      const code = await files.edit(undefined, read(bytes), limits).then(
        () => 'fine',
        (error) => error.code,
      );
      expect(['fine', 'invalid_request', 'body_too_large']).toContain(code);
    }),
    { numRuns: 30 },
  );
});

test('a cut archive is an error, not half a version', async () => {
  const { files } = openStore();
  const whole = await archiveOf([{ name: 'a' }, 'x'.repeat(2000)]);
  await expect(files.edit(undefined, read(whole.subarray(0, 1000)), limits)).rejects.toMatchObject({
    code: 'invalid_request',
  });
});

test('a diff is unified text; what is not text is named', async () => {
  const { files } = openStore();
  const from = await files.edit(
    undefined,
    [put('edit.txt', 'one\ntwo\nthree\n'), put('gone', 'bye\n'), put('bin', Buffer.from([0, 1, 2]))],
    limits,
  );
  const to = await files.edit(
    from.version,
    [
      put('edit.txt', 'one\n2\nthree\n'),
      put('new\nname', 'hi'),
      put('bin', Buffer.from([0, 9])),
      { path: 'gone', delete: true },
    ],
    limits,
  );
  const { text, omitted } = await files.diff(from.version, to.version);
  expect(omitted).toBe(0);
  expect(text).toMatchInlineSnapshot(`
    "Binary files a/bin and b/bin differ (3 -> 2 bytes)
    --- a/edit.txt
    +++ b/edit.txt
    @@ -1,3 +1,3 @@
     one
    -two
    +2
     three
    --- a/gone
    +++ /dev/null
    @@ -1,1 +0,0 @@
    -bye
    --- /dev/null
    +++ "b/new\\nname"
    @@ -0,0 +1,1 @@
    +hi
    \\ No newline at end of file
    "
  `);
  expect((await files.diff(undefined, from.version)).text).toContain(
    '--- /dev/null\n+++ b/edit.txt\n@@ -0,0 +1,3 @@',
  );
  expect(await files.diff(to.version, to.version)).toEqual({ text: '', omitted: 0 });
});

test('a diff is bounded: its text, the size of a file, and the time for one', async () => {
  const { files } = openStore();
  const random = (seed: number) =>
    Array.from({ length: 20_000 }, (_, n) => ((n * 7919 * seed) % 104_729).toString()).join('\n');
  const from = await files.edit(undefined, [put('a', random(1)), put('b', 'b'), put('c', 'c')], limits);
  const to = await files.edit(from.version, [put('a', random(3)), put('b', 'B'), put('c', 'C')], limits);
  const bounds = { textChars: 100, fileBytes: 1_000_000, fileMs: 50, totalMs: 60_000 };
  const slow = await files.diff(from.version, to.version, bounds);
  expect(slow.text).toBe('Files a/a and b/a differ; comparing them took too long\n');
  expect(slow.omitted).toBeGreaterThan(0);
  const large = await files.diff(from.version, to.version, { ...bounds, fileBytes: 10 });
  expect(await files.diff(from.version, to.version, { ...bounds, totalMs: -1 })).toEqual({
    text: '',
    omitted: 3,
  });
  expect(large.text).toMatch(/^Large files a\/a and b\/a differ \(\d+ -> \d+ bytes\)\n/);
});
