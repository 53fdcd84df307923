import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';
import { judge, next } from './judge.ts';

/** A gateway whose only upstream is another gateway, which has the fixtures of the suites. */
async function openThrough(): Promise<string> {
  const behind = await openFleet({
    workers: 0,
    env: {
      HARNESS_PLUGINS: fileURLToPath(new URL('conformance-plugin.ts', import.meta.url)),
      HARNESS_UNPREFIXED_PLUGINS: 'conformance',
    },
  });
  const folder = await mkdtemp(join(tmpdir(), 'upstreams-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'mcp.json');
  const conformance = {
    type: 'http',
    url: `${behind.gateway.ready.url}/mcp`,
    tools: ['!*__*'],
  };
  await writeFile(file, JSON.stringify({ mcpServers: { conformance } }), { mode: 0o600 });
  const front = await openFleet({
    workers: 0,
    env: { HARNESS_UPSTREAMS_FILE: file, HARNESS_UNPREFIXED_PLUGINS: 'conformance' },
  });
  const { url } = front.gateway.ready;
  await expect
    .poll(async () => {
      const listed = await fetch(`${url}/v1/upstreams`);
      return ((await listed.json()) as { upstreams: { tools: string[] }[] }).upstreams[0]?.tools.length;
    })
    .toBeGreaterThan(10);
  return `${url}/mcp`;
}

test('0.2.0-alpha.12 through a gateway, what 2025-11-25 requires', async () => {
  const { checks, ...verdict } = await judge(next, await openThrough(), '--requirements', '2025-11-25');
  expect(verdict).toMatchObject({ code: 0, failed: [] });
  expect(checks).toBeGreaterThanOrEqual(80);
});

test('0.2.0-alpha.12 through a gateway, what 2026-07-28 requires, and the tasks extension', async () => {
  const { checks, ...verdict } = await judge(next, await openThrough(), '--requirements', '2026-07-28');
  // A client without the extension is not refused a tool that needs it: the gateway waits for the task's result on its behalf.
  expect(verdict).toMatchObject({ code: 0, failed: ['tasks-required-task-error'] });
  expect(verdict.held).toEqual(expect.arrayContaining(['tasks-lifecycle', 'tasks-mrtr-composition']));
  expect(checks).toBeGreaterThanOrEqual(100);
});
