import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fileChangesOf, openFileStore } from '../../src/index.ts';
import { bytesOf, limits, newFolder, openStore } from '../fixture.ts';

/** What a folder holds, as a version should: kind, mode and content by path. */
function treeOf(folder: string, prefix = ''): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(join(folder, prefix)).sort()) {
    const path = prefix + name;
    const stat = lstatSync(join(folder, path));
    const mode = (stat.mode & 0o777).toString(8);
    if (stat.isSymbolicLink()) found[path] = `-> ${readlinkSync(join(folder, path))}`;
    else if (stat.isDirectory()) {
      found[path] = `dir ${mode}`;
      Object.assign(found, treeOf(folder, `${path}/`));
    } else found[path] = `${mode} ${readFileSync(join(folder, path)).toString('base64')}`;
  }
  return found;
}

type Tree = Map<string, { kind: 'file' | 'dir' | 'link'; content: Uint8Array; mode: number }>;

function plant(folder: string, tree: Tree): void {
  for (const [path, { kind, content, mode }] of tree) {
    const at = join(folder, path);
    if (kind === 'dir') mkdirSync(at, { recursive: true });
    else if (kind === 'link') symlinkSync(`../${path}/..`, at);
    else writeFileSync(at, content);
    if (kind === 'file') chmodSync(at, mode);
  }
}

const name = fc.constantFrom('a', 'b', 'c-d', 'c', 'é', '_proto__', '__proto__', 'x y', '-', '…', '.hidden');
const node = fc.record({
  kind: fc.constantFrom('file' as const, 'file' as const, 'dir' as const, 'link' as const),
  content: fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.constant(new Uint8Array(300_000).fill(7))),
  mode: fc.constantFrom(0o600, 0o644, 0o755, 0o444),
});
/** Trees of at most three levels; a path below a file or link is left out. */
const trees: fc.Arbitrary<Tree> = fc
  .array(fc.tuple(fc.array(name, { minLength: 1, maxLength: 3 }), node), { maxLength: 12 })
  .map((drawn) => {
    const tree: Tree = new Map();
    const dir = { kind: 'dir' as const, content: new Uint8Array(), mode: 0o755 };
    for (const [parts, leaf] of drawn) {
      const above = parts.slice(0, -1).map((_, n) => parts.slice(0, n + 1).join('/'));
      if (above.some((path) => (tree.get(path) ?? dir).kind !== 'dir')) continue;
      for (const path of above) if (!tree.has(path)) tree.set(path, dir);
      if (!tree.has(parts.join('/'))) tree.set(parts.join('/'), leaf);
    }
    return tree;
  });

test('a snapshot restores to the same tree, and an update leads to the same as a restore', async () => {
  const { files, another } = openStore();
  await fc.assert(
    fc.asyncProperty(trees, trees, async (one, other) => {
      const [work, second] = [another(), another()];
      plant(work, one);
      plant(second, other);
      const from = await files.snapshot(work, { limits });
      const to = await files.snapshot(second, { limits });
      const copy = another();
      const restored = await files.restore(from.version, copy);
      expect(treeOf(copy)).toEqual(treeOf(work));
      expect((await files.snapshot(copy, { limits, previous: restored })).version).toBe(from.version);
      const updated = await files.update(restored, to.version, { folder: copy });
      expect(treeOf(copy)).toEqual(treeOf(second));
      const again = await files.snapshot(copy, { limits, previous: updated });
      expect(again).toMatchObject({ version: to.version, changes: { added: [], changed: [], removed: [] } });
    }),
    { numRuns: 25 },
  );
});

test('a snapshot names what was added, changed and removed since the previous one', async () => {
  const { files, work } = openStore();
  for (const path of ['keep', 'edit', 'gone']) writeFileSync(join(work, path), path);
  const previous = await files.snapshot(work, { limits });
  expect(previous).toMatchObject({ files: 3, bytes: 12 });
  writeFileSync(join(work, 'edit'), 'tide'); // the same size
  rmSync(join(work, 'gone'));
  mkdirSync(join(work, 'sub'));
  writeFileSync(join(work, 'sub', 'new'), 'new');
  const next = await files.snapshot(work, { limits, previous });
  expect(next.changes).toEqual({ added: ['sub', 'sub/new'], changed: ['edit'], removed: ['gone'] });
  expect(fileChangesOf(next)).toEqual({
    version: next.version,
    changed: ['edit', 'gone', 'sub', 'sub/new'],
    more: 0,
  });
});

test('a change that keeps size and mtime is noticed', async () => {
  const { files, work } = openStore();
  const path = join(work, 'a');
  const time = new Date(1_600_000_000_000);
  writeFileSync(path, 'one');
  utimesSync(path, time, time);
  const previous = await files.snapshot(work, { limits });
  writeFileSync(path, 'two');
  utimesSync(path, time, time);
  const next = await files.snapshot(work, { limits, previous });
  expect(next.changes.changed).toEqual(['a']);
});

test('symbolic links are kept as text, at a snapshot and at a restore', async () => {
  const { files, work, another } = openStore();
  const outside = newFolder();
  writeFileSync(join(outside, 'secret'), 'secret');
  symlinkSync(outside, join(work, 'out'));
  symlinkSync(join(outside, 'secret'), join(work, 'file'));
  const { version } = await files.snapshot(work, { limits });
  expect((await files.manifest(version)).entries.get('out')).toEqual({
    path: 'out',
    kind: 'symlink',
    target: outside,
  });
  const copy = another();
  await files.restore(version, copy);
  expect(readlinkSync(join(copy, 'out'))).toBe(outside);
  await expect(files.open(version, 'file')).rejects.toMatchObject({ code: 'file_not_found' });
  await expect(files.open(version, 'out/secret')).rejects.toMatchObject({ code: 'file_not_found' });
});

test('an update does not write through what has become a symbolic link or a hard link', async () => {
  const { files, work } = openStore();
  const outside = newFolder();
  writeFileSync(join(outside, 'victim'), 'as it was');
  mkdirSync(join(work, 'dir'));
  writeFileSync(join(work, 'dir', 'victim'), 'one');
  writeFileSync(join(work, 'hard'), 'one');
  const from = await files.snapshot(work, { limits });
  const { version } = await files.edit(
    from.version,
    [
      { path: 'dir/victim', put: Buffer.from('two') },
      { path: 'hard', put: Buffer.from('two') },
    ],
    limits,
  );
  rmSync(join(work, 'hard'));
  linkSync(join(outside, 'victim'), join(work, 'hard'));
  renameSync(join(work, 'dir'), join(work, 'moved'));
  symlinkSync(outside, join(work, 'dir'));
  await expect(files.update(from, version, { folder: work })).rejects.toMatchObject({
    code: expect.stringMatching(/ENOTDIR|ELOOP/),
  });
  rmSync(join(work, 'dir'));
  renameSync(join(work, 'moved'), join(work, 'dir'));
  await files.update(from, version, { folder: work });
  expect(readFileSync(join(work, 'hard'), 'utf8')).toBe('two');
  expect(readFileSync(join(outside, 'victim'), 'utf8')).toBe('as it was');
});

test('fifos, sockets and names that are not UTF-8 are reported, and nothing waits for them', async () => {
  const { files, work } = openStore();
  execFileSync('mkfifo', [join(work, 'fifo')]);
  writeFileSync(Buffer.concat([Buffer.from(`${work}/`), Buffer.from([0x61, 0xff])]), 'x');
  writeFileSync(join(work, 'fine'), 'x');
  let deep = work;
  for (let n = 0; n < 70; n++) deep = join(deep, 'd');
  mkdirSync(deep, { recursive: true });
  writeFileSync(join(deep, 'deepest'), 'x');
  const { skipped, files: count } = await files.snapshot(work, { limits });
  expect(count).toBe(1);
  expect(skipped.map(({ why }) => why).sort()).toEqual([
    'it is more than 64 folders deep',
    'it is neither a file nor a folder nor a symbolic link',
    'its name is not valid UTF-8',
  ]);
});

test('a sparse file beyond the limit is refused before it is read, and nothing is stored', async () => {
  const { files, work, dir } = openStore();
  writeFileSync(join(work, 'sparse'), '');
  truncateSync(join(work, 'sparse'), 10_000_000_000);
  await expect(files.snapshot(work, { limits })).rejects.toMatchObject({
    code: 'limit_reached',
    details: { limit: 'threadBytes', allowed: limits.bytes },
  });
  for (const name of ['a', 'b', 'c']) writeFileSync(join(work, name), name);
  rmSync(join(work, 'sparse'));
  await expect(files.snapshot(work, { limits: { ...limits, files: 2 } })).rejects.toMatchObject({
    code: 'limit_reached',
    details: { limit: 'threadFiles' },
  });
  await expect(files.snapshot(work, { limits: { ...limits, tenantBytes: 2 } })).rejects.toMatchObject({
    code: 'limit_reached',
    details: { limit: 'tenantBytes', of: 'tenant' },
  });
  expect(await files.usage()).toBe(0);
  expect(readdirSync(join(dir, 't-default', 'tmp'))).toEqual([]);
});

test('edits make versions without a folder; their files are found again', async () => {
  const { files } = openStore();
  const put = (path: string, text: string) => ({ path, put: Buffer.from(text) });
  const first = await files.edit(undefined, [put('a/b.txt', 'hello'), put('c', 'see')], limits);
  expect(first).toMatchObject({ files: 2, bytes: 8, changes: { added: ['a', 'a/b.txt', 'c'] } });
  const open = await files.open(first.version, 'a/b.txt');
  expect(open.entry).toMatchObject({ size: 5, mode: 0o644 });
  expect(`${await bytesOf(await open.stream())}`).toBe('hello');
  expect(`${await bytesOf(await open.stream({ start: 1, end: 3 }))}`).toBe('ell');
  const next = await files.edit(first.version, [{ path: 'a', delete: true }], limits);
  expect(next.changes).toEqual({ added: [], changed: [], removed: ['a', 'a/b.txt'] });
  await expect(files.edit(first.version, [{ path: 'x', delete: true }], limits)).rejects.toMatchObject({
    code: 'file_not_found',
  });
  for (const path of ['', '/x', '../x', 'a/../x', 'a//b', './a', 'c/d', 'a', 'x\0', 'y'.repeat(2000)]) {
    const edit = files.edit(first.version, [put(path, 'x')], limits);
    await expect(edit, path).rejects.toMatchObject({ code: 'invalid_request' });
  }
});

test('files of a message replace those of the thread, whatever has their paths', async () => {
  const { files } = openStore();
  const put = (path: string) => ({ path, put: Buffer.from(path) });
  const base = await files.edit(undefined, [put('a'), put('dir/kept'), put('folder/x')], limits);
  const added = await files.edit(undefined, [put('a/in'), put('dir/new'), put('folder')], limits);
  const { version } = await files.merge(base.version, added.version, limits);
  const paths = [...(await files.manifest(version)).entries.keys()];
  expect(paths).toEqual(['a', 'a/in', 'dir', 'dir/kept', 'dir/new', 'folder']);
});

test('tenants share nothing, whatever their names', async () => {
  const dir = newFolder();
  const store = openFileStore({ dir });
  const names = ['acme', 'Acme', '..', 'a/b', '', 'h-1'];
  const made = await Promise.all(
    names.map((tenant) => store.of(tenant).edit(undefined, [{ path: 'a', put: Buffer.from('x') }], limits)),
  );
  expect((await store.tenants()).sort()).toEqual([...names].sort());
  expect(new Set(made.map(({ version }) => version)).size).toBe(1);
  const version = made[0]?.version ?? '';
  await expect(openFileStore({ dir }).of('other').manifest(version)).rejects.toMatchObject({
    code: 'file_damaged',
  });
});
