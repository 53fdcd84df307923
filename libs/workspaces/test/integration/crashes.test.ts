import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { openFileStore } from '../../src/index.ts';
import { newFolder } from '../fixture.ts';

const writer = fileURLToPath(new URL('../store-writer.ts', import.meta.url));

/** Starts a writer; `versions` are those that it called durable. */
function startWriter(dir: string, seed: number): { child: ChildProcess; versions: string[] } {
  const child = spawn(process.execPath, [writer, dir, String(seed)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const versions: string[] = [];
  const lines = createInterface({ input: child.stdout as NonNullable<typeof child.stdout> });
  lines.on('line', (line) => versions.push(line));
  return { child, versions };
}

test('processes that are killed while they store lose no version that they called durable', {
  timeout: 60_000,
}, async () => {
  const dir = join(newFolder(), 'store');
  const durable: string[] = [];
  for (let round = 0; round < 2; round++) {
    const writers = [1, 2].map((n) => startWriter(dir, round * 10 + n));
    for (const [n, { child, versions }] of writers.entries()) {
      await expect.poll(() => versions.length, { timeout: 15_000 }).toBeGreaterThan(3 + n);
      const ended = once(child, 'close');
      child.kill('SIGKILL');
      await ended;
      durable.push(...versions.filter((version) => version.length === 64));
    }
  }
  const files = openFileStore({ dir }).of('default');
  expect(durable.length).toBeGreaterThan(15);
  expect(await files.verify(durable)).toMatchObject({ missing: [], damaged: [] });
  const last = durable.at(-1) ?? '';
  await files.collect([last], { graceMs: 0 });
  await files.collect([last], { graceMs: 0 });
  expect(await files.verify([last])).toMatchObject({ missing: [], damaged: [] });
});

test('garbage is collected while others write: no version in use loses a file', {
  timeout: 60_000,
}, async () => {
  const dir = join(newFolder(), 'store');
  const writers = [1, 2].map((n) => startWriter(dir, n));
  const files = openFileStore({ dir }).of('default');
  /** Of each writer the latest version is in use. */
  const live = () => writers.flatMap(({ versions }) => versions.slice(-1));
  let collected = 0;
  const collectOnce = async () => {
    const { lost, deleted } = await files.collect(live(), { graceMs: 1_000 });
    expect(lost).toEqual([]);
    collected += deleted;
  };
  await expect
    .poll(
      async () => {
        await collectOnce();
        return collected;
      },
      { timeout: 25_000 },
    )
    .toBeGreaterThan(100);
  for (const { child } of writers) {
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
  }
  expect(await files.verify(live())).toMatchObject({ missing: [], damaged: [] });
});

const canMount = (() => {
  try {
    execFileSync('unshare', ['--user', '--map-root-user', '--mount', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

test.skipIf(!canMount)('a full disk is an error that says so, and the store stays whole', async () => {
  const dir = join(newFolder(), 'small');
  mkdirSync(dir);
  const index = new URL('../../src/index.ts', import.meta.url);
  const script = `
    const { openFileStore } = await import(${JSON.stringify(index.href)});
    const files = openFileStore({ dir: ${JSON.stringify(dir)} }).of('default');
    const limits = { bytes: 1e9, files: 1000 };
    const put = (path, bytes) => ({ path, put: Buffer.alloc(bytes, path) });
    const first = await files.edit(undefined, [put('a', 100_000)], limits);
    const refusals = [];
    for (const edits of [[put('b', 200_000), put('c', 3_000_000)], [{ path: 'd', put: (async function* () {
      for (let n = 0; n < 100; n++) yield Buffer.alloc(65_536, n);
    })() }]])
      await files.edit(first.version, edits, limits).catch(({ code, message }) => refusals.push({ code, message }));
    const next = await files.edit(first.version, [put('e', 100_000)], limits);
    console.log(JSON.stringify({ refusals, verified: await files.verify([first.version, next.version]) }));
  `;
  const mounted = `mount -t tmpfs -o size=2m tmpfs ${dir} && exec "$0" --input-type=module -e "$1"`;
  const args = ['--user', '--map-root-user', '--mount', 'sh', '-c', mounted, process.execPath, script];
  const { stdout } = await promisify(execFile)('unshare', args);
  const refusal = { code: 'storage_full', message: expect.stringContaining('full') };
  expect(JSON.parse(stdout)).toEqual({
    refusals: [refusal, refusal],
    verified: { blobs: 4, bytes: expect.any(Number), damaged: [], missing: [] },
  });
});
