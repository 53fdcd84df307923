/** The official suites through a gateway: each scenario scores as with the server behind it, but for those that are named. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';
import { judge, next, type Verdict } from './judge.ts';

const plugin = 'conformance';

/** A gateway whose only upstream is another gateway, which has the fixtures of the suites; the addresses of both. */
async function openThrough(): Promise<{ direct: string; through: string }> {
  const behind = await openFleet({
    workers: 0,
    env: {
      HARNESS_PLUGINS: fileURLToPath(new URL('conformance-plugin.ts', import.meta.url)),
      HARNESS_UNPREFIXED_PLUGINS: plugin,
    },
  });
  const folder = await mkdtemp(join(tmpdir(), 'upstreams-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'mcp.json');
  const direct = `${behind.gateway.ready.url}/mcp`;
  const conformance = { type: 'http', url: direct, tools: ['!*__*'] };
  await writeFile(file, JSON.stringify({ mcpServers: { conformance } }), { mode: 0o600 });
  const front = await openFleet({
    workers: 0,
    env: { HARNESS_UPSTREAMS_FILE: file, HARNESS_UNPREFIXED_PLUGINS: plugin },
  });
  const { url } = front.gateway.ready;
  await expect
    .poll(async () => {
      const listed = await fetch(`${url}/v1/upstreams`);
      return ((await listed.json()) as { upstreams: { tools: string[] }[] }).upstreams[0]?.tools.length;
    })
    .toBeGreaterThan(10);
  return { direct, through: `${url}/mcp` };
}

/** The scenarios whose scores differ, with both: `[direct, through]`. */
function differences(direct: Verdict, through: Verdict): Record<string, (string | undefined)[]> {
  const names = new Set([direct, through].flatMap(({ scores }) => Object.keys(scores)));
  return Object.fromEntries(
    [...names]
      .filter((name) => direct.scores[name] !== through.scores[name])
      .map((name) => [name, [direct.scores[name], through.scores[name]]]),
  );
}

test.each([
  {
    version: '2025-11-25',
    checks: 83,
    named: {
      // Whether a tool lets go of its stream is no part of its result: the gateway answers with JSON, and the scenario does not apply.
      'server-sse-polling': ['3 passed, 0 failed', '0 passed, 0 failed'],
    },
  },
  {
    version: '2026-07-28',
    checks: 196,
    named: {
      // The fixture says that its lists have changed when they have not; the gateway reads them, and passes real changes alone (a warning).
      'server-stateless': ['30 passed, 0 failed', '28 passed, 0 failed'],
      // A client without the extension is not refused a tool that needs it: the gateway waits for the task's result on its behalf.
      'tasks-required-task-error': ['3 passed, 0 failed', '1 passed, 1 failed'],
    },
  },
])(
  '0.2.0-alpha.12, what $version requires: through a gateway as direct',
  async ({ version, checks, named }) => {
    const urls = await openThrough();
    const direct = await judge(next, urls.direct, '--requirements', version);
    const through = await judge(next, urls.through, '--requirements', version);
    expect(direct).toMatchObject({ code: 0, failed: [] });
    expect(direct.checks).toBeGreaterThanOrEqual(checks);
    expect(through.code).toBe(0);
    expect(differences(direct, through)).toEqual(named);
  },
);
