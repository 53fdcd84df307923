import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';

async function openFolder() {
  const dir = await mkdtemp(join(tmpdir(), 'harness-audit-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

test('HARNESS_AUDIT_FILE gets every record, whatever the log level is, also at the end of the process', async () => {
  const file = join(await openFolder(), 'audit.jsonl');
  const fleet = await openFleet({ workers: 0, env: { LOG_LEVEL: 'silent', HARNESS_AUDIT_FILE: file } });
  const first = await fleet.thread();
  const records = async () =>
    (await readFile(file, 'utf8'))
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { target: string });
  await expect.poll(records).toMatchObject([{ target: first }]);
  const second = await fleet.thread();
  await fetch(`${fleet.url}/healthz`, { headers: { origin: 'https://evil.test' } });
  await fleet.gateway.end(10_000);
  expect(await records()).toMatchObject([
    { action: 'createThread', target: first, outcome: 'ok' },
    { action: 'createThread', target: second, outcome: 'ok' },
    { action: 'getHealth', target: null, outcome: 'forbidden' },
  ]);
});

test('a file that cannot be written is reported at the start', async () => {
  const env = { HARNESS_AUDIT_FILE: join(await openFolder(), 'none', 'audit.jsonl') };
  await expect(openFleet({ workers: 0, env })).rejects.toThrow(/HARNESS_AUDIT_FILE: .* cannot be written/);
});
