import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';

const wholePlugin = fileURLToPath(new URL('../../../../libs/plugins/test/whole-plugin.ts', import.meta.url));

interface ToolAnswer {
  content: { text: string }[];
  isError: boolean;
}

interface PluginShown {
  name: string;
  isolation: string;
  state: string;
  crashes: number;
  lastCrash: string | null;
}

async function openGateway(env: Record<string, string> = {}) {
  const fleet = await openFleet({
    workers: 0,
    env: {
      HARNESS_PLUGINS: wholePlugin,
      HARNESS_API_KEY: 'a-key-of-the-gateway',
      HARNESS_TOKEN_SECRET: 'x'.repeat(20),
      ...env,
    },
  });
  const authorization = 'Bearer a-key-of-the-gateway';
  const request = (path: string, init: RequestInit = {}) =>
    fetch(fleet.url + path, {
      ...init,
      headers: { authorization, 'content-type': 'application/json', ...(init.headers as object) },
    });
  const call = async (name: string, input: object, headers: Record<string, string> = {}) => {
    const body = JSON.stringify({ arguments: input });
    return (await (
      await request(`/v1/tools/${name}`, { method: 'POST', body, headers })
    ).json()) as ToolAnswer;
  };
  const shown = async (): Promise<PluginShown> => {
    const { plugins } = (await (await request('/v1/plugins')).json()) as { plugins: PluginShown[] };
    return plugins.find(({ name }) => name === 'whole') as PluginShown;
  };
  const metrics = async () => (await request('/metrics')).text();
  return { fleet, request, call, shown, metrics };
}

test('a plugin that crashes, loops or exhausts memory affects no other; it is reported and restarted', async () => {
  const { fleet, request, call, shown, metrics } = await openGateway();
  expect(await shown()).toMatchObject({ isolation: 'process', state: 'ready', crashes: 0 });
  const looping = call('whole__misbehave', { how: 'loop', ms: 3_000 });
  for (let i = 0; i < 20; i++) {
    expect((await fetch(`${fleet.url}/healthz`)).status).toBe(200);
    expect(await call('time__current_time', {})).toMatchObject({ isError: false });
    await after(50);
  }
  expect(await looping).toMatchObject({ isError: false });

  for (const [how, count] of [
    ['reject', 1],
    ['throw', 2],
    ['exit', 3],
  ] as const) {
    const hurt = await call('whole__misbehave', { how });
    expect(hurt).toMatchObject({ isError: true });
    expect(hurt.content[0]?.text).toContain('ended during the call');
    await expect.poll(shown).toMatchObject({ state: 'ready', crashes: count });
  }
  expect(await metrics()).toMatch(/harness_plugin_crashes_total\{plugin="whole"\} 3/);
  expect(await metrics()).toMatch(/harness_plugin_up\{plugin="whole"\} 1/);
  expect(await call('whole__echo', { text: 'back' })).toMatchObject({ isError: false });

  // Its uncaught errors did not reach the gateway.
  expect(fleet.gateway.process.exitCode).toBe(null);
  const { plugins } = (await (await request('/v1/plugins')).json()) as { plugins: PluginShown[] };
  expect(plugins.find(({ name }) => name === 'time')).toMatchObject({ isolation: 'none', state: 'ready' });
});

test('its process gets the caller and the trace, and no secret of its owner', async () => {
  const { call, fleet } = await openGateway({
    AWS_SECRET_ACCESS_KEY: 'hidden',
    ANTHROPIC_API_KEY: 'hidden',
    OWN_SETTING: 'seen',
  });
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const answer = await call('whole__surroundings', {}, { traceparent });
  const { env, meta } = JSON.parse(answer.content[0]?.text ?? '');
  expect(meta).toMatchObject({ traceparent, principal: { tenant: 'default' } });
  expect(env.OWN_SETTING).toBe('seen');
  for (const name of [
    'REDIS_URL',
    'AWS_SECRET_ACCESS_KEY',
    'ANTHROPIC_API_KEY',
    'HARNESS_API_KEY',
    'HARNESS_TOKEN_SECRET',
  ])
    expect([name, env[name]]).toEqual([name, undefined]);
  expect(env.HARNESS_PLUGINS).toBe(wholePlugin);
  expect(JSON.stringify(env)).not.toContain(fleet.redisUrl);
});

test('HARNESS_PLUGIN_ISOLATION=none: an uncaught error of a plugin shuts the gateway down in order, and is counted', async () => {
  const { fleet, call, shown } = await openGateway({ HARNESS_PLUGIN_ISOLATION: 'none' });
  expect(await shown()).toMatchObject({ isolation: 'none', state: 'ready' });
  const slow = call('whole__misbehave', { how: 'sleep', ms: 1_500 }); // in progress at that time; it still gets its response
  const thrown = call('whole__misbehave', { how: 'rejectAside' });
  expect(await thrown).toMatchObject({ isError: false });
  expect(await slow).toMatchObject({ isError: false });
  await fleet.gateway.exited;
  expect(fleet.gateway.process.exitCode).toBe(1);
  const next = await fleet.addGateway();
  const headers = { authorization: 'Bearer a-key-of-the-gateway' };
  const metrics = await (await fetch(`${next.ready.url}/metrics`, { headers })).text();
  expect(metrics).toMatch(/harness_process_escapes_total 1/);
});
