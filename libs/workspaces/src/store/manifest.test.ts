import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { limits, openStore } from '../../test/fixture.ts';

test('a malicious manifest is refused, and nothing is written', async () => {
  const { files, another } = openStore();
  const sha256 = 'a'.repeat(64);
  const file = (path: string) => ({ path, kind: 'file', mode: 0o644, size: 1, sha256 });
  const entries = [
    [file('../x')],
    [file('/etc/x')],
    [file('a/b')], // in no folder
    [{ path: 'a', kind: 'symlink', target: '/etc' }, file('a/b')],
    [{ ...file('a'), mode: 0o4755 }],
    [{ path: 'a', kind: 'device' }],
    [file('b'), file('a')],
    [{ ...file('a'), extra: 1 }],
  ];
  for (const list of entries) {
    const text = `{"format":1,"entries":[\n${list.map((entry) => JSON.stringify(entry)).join(',\n')}\n]}\n`;
    const { version } = await files.edit(undefined, [{ path: 'm', put: Buffer.from(text) }], limits);
    const digest = (await files.open(version, 'm')).entry.sha256;
    const copy = another();
    await expect(files.restore(digest, copy), text).rejects.toMatchObject({ code: 'file_damaged' });
    expect(readdirSync(copy)).toEqual([]);
  }
  await expect(files.manifest('../../etc/passwd')).rejects.toMatchObject({ code: 'file_damaged' });
});

const part = fc.constantFrom('a', 'b', '..', '.', '', '/', 'etc', 'x\0', '\\', 'c'.repeat(300), '\ud800');
const foreignEntry = fc.record({
  path: fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/')),
  kind: fc.constantFrom('file', 'dir', 'symlink', 'device'),
  mode: fc.constantFrom(0o644, 0o755, 0o4755, -1, 1.5),
  size: fc.constantFrom(1, -1, 2 ** 60),
  target: fc.constantFrom('..', '../outside', '/etc', ''),
});

test('whatever a manifest says, nothing outside of the folder is changed', async () => {
  const { files, another } = openStore();
  const { version } = await files.edit(undefined, [{ path: 'm', put: Buffer.from('x') }], limits);
  const { sha256 } = (await files.open(version, 'm')).entry;
  await fc.assert(
    fc.asyncProperty(fc.array(foreignEntry, { maxLength: 5 }), fc.boolean(), async (drawn, isSorted) => {
      const fieldsOf = ({ path, kind, mode, size, target }: (typeof drawn)[number]) => {
        if (kind === 'symlink') return { path, kind, target };
        return kind === 'dir' ? { path, kind, mode } : { path, kind, mode, size, sha256 };
      };
      const list = isSorted ? drawn.toSorted((one, other) => (one.path < other.path ? -1 : 1)) : drawn;
      const lines = list.map((entry) => JSON.stringify(fieldsOf(entry)));
      const text = `{"format":1,"entries":[\n${lines.join(',\n')}\n]}\n`;
      const made = await files.edit(undefined, [{ path: 'm', put: Buffer.from(text) }], limits);
      const work = another();
      const around = join(work, '..');
      writeFileSync(join(around, 'outside'), 'as it was');
      const digest = (await files.open(made.version, 'm')).entry.sha256;
      const code = await files.restore(digest, work).then(
        () => 'restored',
        (error) => error.code,
      );
      expect(['restored', 'file_damaged']).toContain(code);
      expect(readdirSync(around).sort()).toEqual(['outside', 'work']);
      expect(readFileSync(join(around, 'outside'), 'utf8')).toBe('as it was');
    }),
    { numRuns: 30 },
  );
});
