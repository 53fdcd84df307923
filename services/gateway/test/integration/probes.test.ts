import { createLogger } from '@harness/runtime';
import { expect, test } from 'vitest';
import { bearer, keyFor, openGateway } from '../fixture.ts';

test('probes are logged only when they fail', async () => {
  const lines: { msg: string; path?: string; status?: number }[] = [];
  const logger = createLogger('test', 'info', {
    destination: { write: (line) => lines.push(JSON.parse(line)) },
  });
  const { call } = await openGateway({ logger, keys: [keyFor('operator')] });
  const get = async (path: string, key?: string) =>
    (await call('GET', path, { headers: key ? bearer(key) : {} })).status;

  for (const path of ['/healthz', '/readyz', '/metrics']) expect(await get(path, 'operator')).toBe(200);
  expect(await get('/metrics')).toBe(401);
  expect(await get('/v1/threads', 'operator')).toBe(200);
  expect(lines.filter(({ msg }) => msg === 'request')).toMatchObject([
    { path: '/metrics', status: 401 },
    { path: '/v1/threads', status: 200 },
  ]);
});
