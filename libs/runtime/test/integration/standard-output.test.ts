import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';

const runtime = new URL('../../src/index.ts', import.meta.url).href;

/** Starts a process that runs the code with `output`, its standard output, which is not read yet. */
function start(code: string): ChildProcess {
  const script = `
    const { openStandardOutput } = await import(${JSON.stringify(runtime)});
    const output = openStandardOutput();
    const lines = (from, to) => { for (let n = from; n < to; n++) output.write('line ' + n + ' ' + 'x'.repeat(1000) + '\\n'); };
    process.on('message', (code) => code === 'exit' ? process.exit(0) : 0);
    ${code}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}
const numbersIn = (read: string) => [...read.matchAll(/^line (\d+) x{1000}$/gm)].map(([, n]) => Number(n));
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);

test('a reader that pauses blocks nothing; what it reads later is complete and in order', async () => {
  const child = start(`lines(0, 5000); process.send('free');`);
  expect(await once(child, 'message')).toEqual(['free', undefined]);
  const reading = text(child.stdout as NonNullable<ChildProcess['stdout']>);
  child.send('exit');
  expect(numbersIn(await reading)).toEqual(upTo(5_000));
});

test('beyond 16 MB in memory lines are dropped, and a line says so', async () => {
  const child = start(`lines(0, 30000); process.send('free');`);
  await once(child, 'message');
  let read = '';
  child.stdout?.setEncoding('utf8').on('data', (part: string) => {
    read += part;
  });
  await expect.poll(() => read.match(/were dropped/)?.length).toBe(1);
  const written = numbersIn(read);
  expect(written).toEqual(upTo(written.length));
  const [, dropped] = read.match(/"level":40,.*?(\d+) writes of lines were dropped/) ?? [];
  expect(written.length + Number(dropped)).toBe(30_000);
});

test('the last lines before an exit are written; a reader that never reads, or has disconnected, does not keep the process running', async () => {
  const exits = start(`lines(0, 3); process.exit(0);`);
  expect(numbersIn(await text(exits.stdout as NonNullable<ChildProcess['stdout']>))).toEqual(upTo(3));

  const unread = start(`lines(0, 5000); process.exit(3);`);
  expect(await once(unread, 'exit')).toEqual([3, null]);

  const gone = start(
    `process.once('message', () => { lines(0, 5000); process.exit(4); }); process.send('ready');`,
  );
  await once(gone, 'message');
  gone.stdout?.destroy();
  gone.send('go');
  expect(await once(gone, 'exit')).toEqual([4, null]);
});
