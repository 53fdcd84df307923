import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';
import { openRoundRobin } from '../round-robin.ts';
import { current, judge, next } from './judge.ts';

/** An extension that is in no requirement set: all its scenarios must exist and pass. */
const tasks = [
  'tasks-lifecycle',
  'tasks-capability-negotiation',
  'tasks-wire-fields',
  'tasks-request-state-removal',
  'tasks-mrtr-input',
  'tasks-request-headers',
  'tasks-dispatch-and-envelope',
  'tasks-status-notifications',
  'tasks-required-task-error',
  'tasks-mrtr-composition',
];

/** Three gateways behind a load balancer without session affinity. */
async function openReplicas(): Promise<string> {
  const fleet = await openFleet({
    workers: 0,
    env: {
      HARNESS_PLUGINS: fileURLToPath(new URL('conformance-plugin.ts', import.meta.url)),
      HARNESS_UNPREFIXED_PLUGINS: 'conformance',
      HARNESS_SKILLS_DIR: fileURLToPath(new URL('skills', import.meta.url)),
    },
  });
  const gateways = [fleet.gateway, ...(await Promise.all([fleet.addGateway(), fleet.addGateway()]))];
  const balancer = await openRoundRobin(() => gateways.map(({ ready }) => ready.url));
  onTestFinished(balancer.close);
  return `${balancer.url}/mcp`;
}

test('0.1.16, every suite', async () => {
  const { checks, ...verdict } = await judge(current, await openReplicas(), '--suite', 'all');
  expect(verdict).toMatchObject({ code: 0, failed: [] });
  expect(checks).toBeGreaterThanOrEqual(46);
});

test('0.2.0-alpha.12, what 2025-11-25 requires', async () => {
  const { checks, ...verdict } = await judge(next, await openReplicas(), '--requirements', '2025-11-25');
  expect(verdict).toMatchObject({ code: 0, failed: [] });
  expect(checks).toBeGreaterThanOrEqual(83);
});

test('0.2.0-alpha.12, what 2026-07-28 requires, and the tasks extension', async () => {
  const { checks, ...verdict } = await judge(next, await openReplicas(), '--requirements', '2026-07-28');
  expect(verdict).toMatchObject({ code: 0, failed: [], held: expect.arrayContaining(tasks) });
  expect(checks).toBeGreaterThanOrEqual(196);
});

test('the skills extension', async () => {
  const url = await openReplicas();
  for (const part of ['enumeration', 'manifest', 'directory']) {
    const options = ['server', '--url', url, '--scenario', `sep-2640-skills-${part}`];
    const child = spawn(process.execPath, [next, ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
    const output = await text(child.stdout);
    const [, passed, of, failed, warnings] =
      output.match(/Passed: (\d+)\/(\d+), (\d+) failed, (\d+) warnings/) ?? [];
    expect({ part, failed, warnings, passed }).toEqual({ part, failed: '0', warnings: '0', passed: of });
    expect(Number(of)).toBeGreaterThan(4);
    expect(output).not.toContain('SKIPPED');
  }
});
