import { expect, onTestFinished, test, vi } from 'vitest';
import { openAuthorizationServer, trusting } from '../authorization-server.ts';
import { bearer, keyFor, openGateway } from '../fixture.ts';

test('keys are fetched once, and again when the authorization server changes them', async () => {
  const server = await openAuthorizationServer();
  const gateway = await openGateway({ oauth: trusting(server) });
  const status = async () =>
    (await gateway.call('GET', '/v1/threads', { headers: bearer(await server.sign()) })).status;
  expect([await status(), await status()]).toEqual([200, 200]);
  expect(server.asked).toEqual(['/.well-known/oauth-authorization-server', '/jwks']);
  await server.rotate();
  expect(await status()).toBe(401); // unknown keys cause at most two fetches per minute
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 31_000 });
  onTestFinished(() => void vi.useRealTimers());
  expect(await status()).toBe(200);
});

test('HARNESS_OAUTH_JWKS_URL replaces the metadata', async () => {
  const server = await openAuthorizationServer();
  const gateway = await openGateway({ oauth: trusting(server, { jwksUrl: `${server.issuer}/jwks` }) });
  const token = bearer(await server.sign());
  expect((await gateway.call('GET', '/v1/threads', { headers: token })).status).toBe(200);
  expect(server.asked).toEqual(['/jwks']);
});

test('while the keys cannot be fetched tokens are refused, and accepted again afterwards', async () => {
  const server = await openAuthorizationServer();
  const gateway = await openGateway({ oauth: trusting(server), keys: [keyFor('some-key')] });
  const status = async (token: string) =>
    (await gateway.call('GET', '/v1/threads', { headers: bearer(token) })).status;
  const token = await server.sign();
  server.mode = 'broken';
  expect(await status(token)).toBe(503);
  expect(await status('some-key')).toBe(200);
  server.mode = 'well';
  server.metadata = { issuer: 'https://evil.test' };
  expect(await status(token)).toBe(503);
  server.metadata = { jwks_uri: 'http://evil.test/jwks' };
  expect(await status(token)).toBe(503);
  server.metadata = {};
  expect(await status(token)).toBe(200);
});

test('cached keys stay valid while the authorization server is down', async () => {
  const server = await openAuthorizationServer();
  const gateway = await openGateway({ oauth: trusting(server) });
  const status = async (token: string) =>
    (await gateway.call('GET', '/v1/threads', { headers: bearer(token) })).status;
  const token = await server.sign();
  expect(await status(token)).toBe(200);
  server.mode = 'broken';
  await server.rotate();
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 31_000 });
  onTestFinished(() => void vi.useRealTimers());
  expect(await status(await server.sign())).toBe(503); // an unknown key, which cannot be fetched now
  expect(await status(token)).toBe(200);
});

test('an authorization server that never responds delays a request no longer than the limit', async () => {
  const server = await openAuthorizationServer();
  server.mode = 'silent';
  const gateway = await openGateway({ oauth: trusting(server) });
  const token = await server.sign();
  const asked = performance.now();
  const { status } = await gateway.call('GET', '/v1/threads', { headers: bearer(token) });
  expect(status).toBe(503);
  expect(performance.now() - asked).toBeLessThan(8_000);
});

test('a token of another issuer causes no fetch', async () => {
  const server = await openAuthorizationServer();
  const gateway = await openGateway({ oauth: trusting(server) });
  for (const token of ['garbage', await server.sign({ iss: 'https://evil.test' })]) {
    expect((await gateway.call('GET', '/v1/threads', { headers: bearer(token) })).status).toBe(401);
  }
  expect(server.asked).toEqual([]);
});
