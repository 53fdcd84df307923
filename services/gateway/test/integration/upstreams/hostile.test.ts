/** Upstreams that are slow, loop, flood, lie and die: they cost themselves, and no other plugin. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { type Gateway, openGateway, probe } from '../../fixture.ts';
import { fileOf, type Shown, untilReady } from '../../published-servers.ts';

const main = fileURLToPath(new URL('../../hostile-server.ts', import.meta.url));
const hostile = (...how: string[]) => ({ command: process.execPath, args: [main, ...how] });
const plugins = [probe];

const call = async (gateway: Gateway, tool: string, args: object = {}) =>
  (await gateway.call('POST', `/v1/tools/${tool}`, { body: { arguments: args } })).body;
const textIn = (body: { content: { text: string }[] }) => body.content[0]?.text ?? '';
const shownOf = async (gateway: Gateway, name: string): Promise<Shown> => {
  const { upstreams } = (await gateway.call('GET', '/v1/upstreams')).body as { upstreams: Shown[] };
  return upstreams.find((one) => one.name === name) as Shown;
};

test('a gateway starts with upstreams that are dead, mute or no programs, and serves the others', async () => {
  const upstreams = fileOf({
    good: hostile(),
    mute: hostile('mute'),
    garbage: hostile('garbage'),
    missing: { command: '/no/such/program' },
    ends: { command: 'true' },
    refused: { url: 'http://127.0.0.1:9/mcp' },
  });
  const gateway = await openGateway({ upstreams, plugins });
  expect((await call(gateway, 'probe__whoami')).isError).toBe(false);
  await untilReady(gateway, ['good', 'garbage']);
  expect(textIn(await call(gateway, 'good__say'))).toBe('said');
  await expect.poll(async () => (await shownOf(gateway, 'missing')).lastError).toContain('not found');
  await expect
    .poll(async () => (await shownOf(gateway, 'refused')).lastError)
    .toContain('connect ECONNREFUSED');
  expect(await shownOf(gateway, 'mute')).toMatchObject({ state: 'connecting', tools: [] });
});

test('what is too much is left out of lists, with a reason', async () => {
  const upstreams = fileOf({
    many: hostile('many'),
    endless: hostile('endless'),
    bad: hostile('invisible', 'bomb', 'nameless'),
  });
  const gateway = await openGateway({ upstreams, plugins });
  await untilReady(gateway, ['many', 'endless', 'bad']);
  expect((await shownOf(gateway, 'many')).tools).toHaveLength(500);
  expect((await shownOf(gateway, 'many')).problems).toEqual([
    '2500 more tools are left out: at most 500 are offered',
  ]);
  expect((await shownOf(gateway, 'endless')).problems).toContain(
    'the list of tools goes in circles; what came before is used',
  );
  const { tools, problems } = await shownOf(gateway, 'bad');
  expect(tools).toContain('bad__a_b');
  expect(tools).not.toContain('bad__hidden');
  expect(problems.join('\n')).toMatch(/"hidden" is left out: it has an invisible character/);
  expect(problems.join('\n')).toMatch(/"bomb" is left out: it has \d+ bytes/);
  expect(problems.join('\n')).toMatch(/"deep" is left out: it is nested deeper/);
  expect(problems.join('\n')).toMatch(/tool without a name is left out: it has no name/);
  expect(problems.join('\n')).toMatch(/"a.b" is left out: "a\/b" has the same name here/);
});

test('a result of 20 MB fails its call alone', async () => {
  const gateway = await openGateway({ upstreams: fileOf({ big: hostile() }), plugins });
  await untilReady(gateway, ['big']);
  const [huge, said] = await Promise.all([call(gateway, 'big__huge'), call(gateway, 'big__say')]);
  expect(huge).toMatchObject({ isError: true });
  expect(textIn(huge)).toContain('bytes; at most 16777216 are read');
  expect(textIn(said)).toBe('said');
  expect(await shownOf(gateway, 'big')).toMatchObject({ losses: 0, calls: 2, failures: 1 });
});

test('a child has its own process group and a small environment, and ends with the gateway', async () => {
  const upstreams = fileOf({ child: { ...hostile(), env: { GIVEN: 'yes' } } });
  const gateway = await openGateway({ upstreams, plugins });
  await untilReady(gateway, ['child']);
  const env = JSON.parse(textIn(await call(gateway, 'child__env')));
  expect(env).toMatchObject({ GIVEN: 'yes', PATH: process.env.PATH });
  const names = ['GIVEN', 'HOME', 'LANG', 'PATH', 'PWD', 'SHLVL', 'TMPDIR', 'USER', '_', 'OLDPWD'];
  expect(Object.keys(env).filter((name) => !names.includes(name))).toEqual([]);
  const pid = Number(textIn(await call(gateway, 'child__pid')));
  expect(existsSync(`/proc/${pid}`)).toBe(true);
  await gateway.app.close();
  expect(existsSync(`/proc/${pid}`)).toBe(false);
});

test('a child that dies, leaves a process with its output, or floods is started again; the call in progress fails, the next succeeds', async () => {
  const gateway = await openGateway({ upstreams: fileOf({ frail: hostile() }), plugins });
  await untilReady(gateway, ['frail']);
  for (const deadly of ['die', 'leave', 'flood']) {
    const dead = await call(gateway, `frail__${deadly}`);
    expect([dead.isError, textIn(dead)]).toEqual([true, expect.stringContaining('frail did not answer')]);
    await expect.poll(async () => textIn(await call(gateway, 'frail__say'))).toBe('said');
  }
  expect((await shownOf(gateway, 'frail')).losses).toBe(3);
});

test('calls that are not answered end in time; after five the upstream is given up, and tried again', async () => {
  const upstreams = fileOf({ slow: { ...hostile(), timeoutMs: 50 }, other: hostile() });
  const gateway = await openGateway({ upstreams, plugins });
  await untilReady(gateway, ['slow', 'other']);
  for (let i = 0; i < 5; i++)
    expect(textIn(await call(gateway, 'slow__wait'))).toContain('took longer than 50 ms');
  expect(await shownOf(gateway, 'slow')).toMatchObject({
    lastError: expect.stringContaining('did not answer'),
  });
  expect(textIn(await call(gateway, 'other__say'))).toBe('said');
  await expect.poll(async () => textIn(await call(gateway, 'slow__say'))).toBe('said');
});

test('a list that changes all the time is read ever more rarely', async () => {
  const gateway = await openGateway({ upstreams: fileOf({ restless: hostile('restless') }), plugins });
  await untilReady(gateway, ['restless']);
  const seen = new Set<string>();
  const until = performance.now() + 3_000;
  while (performance.now() < until) {
    const { tools } = (await gateway.call('GET', '/v1/tools')).body as {
      tools: { name: string; description: string }[];
    };
    seen.add(tools.find(({ name }) => name === 'restless__say')?.description ?? '');
  }
  // 150 changes; read after 0.5, 1 and 2 s.
  expect(seen.size).toBeGreaterThan(1);
  expect(seen.size).toBeLessThan(6);
});
