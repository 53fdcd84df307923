import { expect, test } from 'vitest';
import { loadGatewayConfig } from './config.ts';

const base = { REDIS_URL: 'redis://127.0.0.1' };
const issuer = 'https://id.example.com/realms/acme';
const oauthOf = async (env: Record<string, string>) =>
  (await loadGatewayConfig({ ...base, HARNESS_OAUTH_ISSUER: issuer, ...env })).oauth;

test('without an issuer there is no OAuth, and listening beyond loopback needs a key', async () => {
  expect((await loadGatewayConfig(base)).oauth).toBeUndefined();
  await expect(loadGatewayConfig({ ...base, HOST: '0.0.0.0' })).rejects.toThrow(/HARNESS_API_KEY/);
});

test('the audiences are the public address and its /mcp, with and without a closing slash', async () => {
  expect(await oauthOf({ HARNESS_PUBLIC_URL: 'https://harness.example.com', HOST: '0.0.0.0' })).toEqual({
    issuer,
    jwksUrl: undefined,
    audiences: [
      'https://harness.example.com',
      'https://harness.example.com/',
      'https://harness.example.com/mcp',
      'https://harness.example.com/mcp/',
    ],
    resources: { rest: 'https://harness.example.com', mcp: 'https://harness.example.com/mcp' },
    publicUrl: 'https://harness.example.com',
    tenantClaim: 'tenant',
    tenant: undefined,
  });
  expect(await oauthOf({})).toMatchObject({ publicUrl: 'http://127.0.0.1:8080' });
  expect(await oauthOf({ HOST: '::1', PORT: '81' })).toMatchObject({ publicUrl: 'http://[::1]:81' });
  await expect(oauthOf({ HOST: '0.0.0.0' })).rejects.toThrow(/HARNESS_PUBLIC_URL/);
});

test('a configured audience is the only one; it is the resource if it is an address of the gateway', async () => {
  const url = 'https://harness.example.com/mcp';
  expect(await oauthOf({ HARNESS_OAUTH_AUDIENCE: url })).toMatchObject({
    audiences: [url, `${url}/`],
    resources: { rest: url, mcp: url },
    publicUrl: 'https://harness.example.com',
  });
  expect(await oauthOf({ HARNESS_OAUTH_AUDIENCE: 'api://harness' })).toMatchObject({
    audiences: ['api://harness'],
    resources: { mcp: 'http://127.0.0.1:8080/mcp' },
  });
});

test('unsafe settings are refused at start, all of them by name', async () => {
  const env = {
    HARNESS_OAUTH_ISSUER: 'http://id.example.com',
    HARNESS_OAUTH_JWKS_URL: 'http://id.example.com/jwks',
    HARNESS_PUBLIC_URL: 'https://harness.example.com/path',
    HARNESS_OAUTH_TENANT: 'a b',
  };
  for (const name of Object.keys(env)) await expect(oauthOf(env)).rejects.toThrow(name);
  await expect(oauthOf({ HARNESS_OAUTH_ISSUER: 'http://127.0.0.1:9000' })).resolves.toBeDefined();
});

test.each([
  ['HARNESS_ALLOWED_HOSTS', 'http://a/b'],
  ['HARNESS_ALLOWED_HOSTS', 'example.com:8080'],
  ['HARNESS_ALLOWED_ORIGINS', 'nonsense'],
  ['HARNESS_ALLOWED_ORIGINS', 'https://app.example.com/'],
])('%s=%s is refused by its name', async (name, value) => {
  await expect(loadGatewayConfig({ ...base, [name]: value })).rejects.toThrow(`${name}: must be`);
});

test('allowed hosts and origins are those that clients send', async () => {
  const hosts = ['lb', 'harness.example.com', '[::1]'];
  const origins = ['https://app.example.com:8443', 'chrome-extension://abc', 'null'];
  const env = { HARNESS_ALLOWED_HOSTS: hosts.join(), HARNESS_ALLOWED_ORIGINS: origins.join(' , ') };
  expect(await loadGatewayConfig({ ...base, ...env })).toMatchObject({
    HARNESS_ALLOWED_HOSTS: hosts,
    HARNESS_ALLOWED_ORIGINS: origins,
  });
});
