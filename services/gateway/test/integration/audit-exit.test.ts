import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';

const audit = new URL('../../src/audit/audit.ts', import.meta.url).href;
const runtime = new URL('../../../../libs/runtime/src/index.ts', import.meta.url).href;

test('the last records before a forced exit are written to standard output and the file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'audit-exit-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'audit.jsonl');
  const script = `
    const { createAudit } = await import(${JSON.stringify(audit)});
    const { createScrubber, openLineFile, openStandardOutput } = await import(${JSON.stringify(runtime)});
    const output = openStandardOutput();
    const audit = createAudit({
      outputs: [output, openLineFile(['FILE', ${JSON.stringify(file)}], console.error)],
      append: () => new Promise(() => {}),
      replica: 'gw',
      scrubber: createScrubber(),
      logger: { warn() {} },
      onDropped() {},
    });
    // More than a pipe takes: standard output has lines in memory when the process exits.
    output.write('x'.repeat(1_000_000) + '\\n');
    const change = { action: 'deleteThread', outcome: 'ok' };
    for (const entry of [change, { ...change, outcome: 'forbidden' }]) audit.record(entry);
    process.exit(1);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  expect(code).toBe(1);
  const outcomesIn = (lines: string) =>
    lines
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line).outcome);
  expect(outcomesIn(printed)).toEqual(['ok', 'forbidden']);
  expect(outcomesIn(await readFile(file, 'utf8'))).toEqual(['ok', 'forbidden']);
});
