/** The process of a plugin: one that does not become ready, and the calls that it accepts. */
import { silentLogger } from '@harness/plugin-kit';
import { expect, onTestFinished, test } from 'vitest';
import { createHostProcess } from '../../src/isolation/host-process.ts';
import type { Peer } from '../../src/isolation/peer.ts';

/** A module whose import does not end. */
const specifier = 'data:text/javascript,setInterval(() => 0, 1e3); await new Promise(() => 0)';
const load = (ask: Peer['ask']) => ask('load', { specifier, as: 'plugin' });

function open(prepare: (ask: Peer['ask']) => Promise<void>) {
  const host = createHostProcess({
    name: () => 'own',
    env: { PATH: process.env.PATH ?? '' },
    memoryMb: 256,
    logger: silentLogger,
    handle: async () => undefined,
    prepare,
  });
  onTestFinished(host.close);
  return host;
}

test('its owner ends it when it closes, also while it starts', async () => {
  const { promise: isAlive, resolve } = Promise.withResolvers<void>();
  const host = open(async (ask) => {
    await ask('ping', {});
    resolve();
    await load(ask);
  });
  const started = host.start();
  await isAlive;
  const [outcome] = await Promise.allSettled([started, host.close()]);
  expect(outcome).toMatchObject({ reason: { code: 'plugin_unavailable' } });
});

test('a call waits at most five seconds for a process that starts and does not become ready', async () => {
  let starts = 0;
  const host = open(async (ask) => {
    await ask('ping', {});
    if (++starts > 1) await load(ask);
  });
  await host.start();
  process.kill(host.pid() as number, 'SIGKILL');
  await expect.poll(host.state).toBe('restarting');
  await expect(host.ask('ping', {})).rejects.toMatchObject({ code: 'plugin_unavailable' });
}, 20_000);

test('a tenant with few calls gets one while another has all the rest; each end makes room', async () => {
  const host = open(async () => undefined);
  await host.start();
  const tooMany = { code: 'plugin_unavailable', message: expect.stringContaining('pending calls') };
  const unending = { specifier, as: 'plugin' };
  const stop = new AbortController();
  const ask = (tenant: string, asking = {}) => host.ask('load', unending, { tenant, ...asking });
  const calls = Array.from({ length: 1_000 }, () => ask('loud', { signal: stop.signal }));
  const ended = Promise.allSettled(calls);
  await expect(ask('loud')).rejects.toMatchObject(tooMany);
  await expect(host.ask('ping', {}, { tenant: 'quiet' })).resolves.toBeDefined();
  stop.abort();
  await ended;
  await expect(host.ask('ping', {}, { tenant: 'loud' })).resolves.toBeDefined();
});
