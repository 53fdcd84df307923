import { readdirSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bytesOf, limits, openStore } from '../fixture.ts';

const put = (path: string, text = path) => ({ path, put: Buffer.from(text) });
const graceMs = 60_000;

/** Every stored blob seems to have been stored an hour ago. */
function age(dir: string): void {
  const then = new Date(Date.now() - 3_600_000);
  const blobs = join(dir, 't-default', 'blobs');
  for (const fan of readdirSync(blobs))
    for (const name of readdirSync(join(blobs, fan))) utimesSync(join(blobs, fan, name), then, then);
}

test('a blob that no version refers to is deleted, in two steps and after the grace time', async () => {
  const { files, dir } = openStore();
  const live = await files.edit(undefined, [put('kept')], limits);
  await files.edit(undefined, [put('garbage', 'x'.repeat(1000))], limits);
  expect(await files.collect([live.version], { graceMs })).toMatchObject({ kept: 4, discarded: 0 });
  age(dir);
  const before = await files.usage();
  expect(await files.collect([live.version], { graceMs })).toMatchObject({
    kept: 2,
    discarded: 2,
    deleted: 0,
  });
  expect(await files.usage()).toBeLessThan(before - 1000);
  expect(await files.collect([live.version], { graceMs })).toMatchObject({
    kept: 2,
    discarded: 0,
    deleted: 2,
  });
  expect(`${await bytesOf(await (await files.open(live.version, 'kept')).stream())}`).toBe('kept');
});

test('a blob in the trash can be read, and is moved back when a version refers to it again', async () => {
  const { files, dir } = openStore();
  const { version } = await files.edit(undefined, [put('a')], limits);
  age(dir);
  expect(await files.collect([], { graceMs })).toMatchObject({ discarded: 2 });
  expect(`${await bytesOf(await (await files.open(version, 'a')).stream())}`).toBe('a');
  expect(await files.collect([version], { graceMs })).toMatchObject({ kept: 2, deleted: 0 });
  expect(await files.verify([version])).toMatchObject({ blobs: 2, missing: [], damaged: [] });
});

test('a snapshot renews what it finds stored, so that it is not collected before its commit', async () => {
  const { files, dir, work } = openStore();
  writeFileSync(join(work, 'a'), 'a');
  await files.snapshot(work, { limits });
  age(dir);
  const { version } = await files.snapshot(work, { limits });
  expect(await files.collect([], { graceMs })).toMatchObject({ discarded: 0 });
  expect(await files.verify([version])).toMatchObject({ missing: [] });
});

test('a snapshot that trusts an old one stores again what was collected meanwhile', async () => {
  const { files, dir, work } = openStore();
  writeFileSync(join(work, 'a'), 'a');
  const previous = await files.snapshot(work, { limits });
  age(dir);
  await files.collect([], { graceMs });
  await files.collect([], { graceMs });
  const old = { ...previous, known: { ...previous.known, renewedAt: 0 } };
  const { version } = await files.snapshot(work, { limits, previous: old });
  expect(await files.verify([version])).toMatchObject({ missing: [], damaged: [] });
});

test('missing and damaged blobs are listed, and nothing is discarded while a live version is lost', async () => {
  const { files, dir } = openStore();
  const { version } = await files.edit(undefined, [put('a', 'hello'), put('b', 'world')], limits);
  const digestOf = async (path: string) => (await files.open(version, path)).entry.sha256;
  const [a, b] = [await digestOf('a'), await digestOf('b')];
  const at = (sha256: string) => join(dir, 't-default', 'blobs', sha256.slice(0, 2), sha256);
  truncateSync(at(a), 2);
  rmSync(at(b));
  const lost = 'f'.repeat(64);
  expect(await files.verify([version, lost])).toMatchObject({ damaged: [a], missing: [b, lost].sort() });
  const reading = bytesOf(await (await files.open(version, 'a')).stream());
  expect((await reading).length).toBe(2);
  await expect(files.diff(undefined, version)).rejects.toMatchObject({ code: 'file_damaged' });
  age(dir);
  expect(await files.collect([lost], { graceMs })).toMatchObject({ discarded: 0, lost: [lost] });
});

test('files that a crash left half written are removed after the grace time', async () => {
  const { files, dir } = openStore();
  await files.edit(undefined, [put('a')], limits);
  const tmp = join(dir, 't-default', 'tmp', 'half');
  writeFileSync(tmp, 'half');
  await files.collect([], { graceMs });
  expect(readdirSync(join(dir, 't-default', 'tmp'))).toEqual(['half']);
  utimesSync(tmp, 1, 1);
  await files.collect([], { graceMs });
  expect(readdirSync(join(dir, 't-default', 'tmp'))).toEqual([]);
});
