import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { withBoundedLines } from './bounded-lines.ts';

const printing = (script: string, mostBytes: number) => {
  const breaches: string[] = [];
  const child = spawn('sh', ['-c', script], { stdio: ['pipe', 'pipe', 'ignore'] });
  const bounded = withBoundedLines(child, (reason) => void breaches.push(reason), mostBytes);
  return { breaches, output: text(bounded.stdout) };
};

test('lines pass, however many there are, also in one piece', async () => {
  const { breaches, output } = printing('for i in $(seq 500); do echo 123456789; done', 64);
  expect(await output).toBe('123456789\n'.repeat(500));
  expect(breaches).toEqual([]);
});

test('a line that is too long is reported, and not kept', async () => {
  const { breaches, output } = printing('echo first; head -c 1000000 /dev/zero', 100_000);
  expect((await output).length).toBeLessThan(200_000);
  expect(breaches[0]).toBe('a message of more than 100000 bytes');
});
