import { expect, test } from 'vitest';
import { loadGatewayConfig } from './config.ts';

const base = { REDIS_URL: 'redis://127.0.0.1' };
const issuer = 'https://id.example.com/realms/acme';
const oauthOf = async (env: Record<string, string>) =>
  (await loadGatewayConfig({ ...base, HARNESS_OAUTH_ISSUER: issuer, ...env })).oauth;

test('no issuer, no OAuth; and then a key is needed to leave loopback', async () => {
  expect((await loadGatewayConfig(base)).oauth).toBeUndefined();
  await expect(loadGatewayConfig({ ...base, HOST: '0.0.0.0' })).rejects.toThrow(/HARNESS_API_KEY/);
});

test('the audience is our public address, REST and /mcp, however it ends', async () => {
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

test('an audience of its own is the only one, and the resource where it is an address of ours', async () => {
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

test('what is not safe is refused at start, by name and all at once', async () => {
  const env = {
    HARNESS_OAUTH_ISSUER: 'http://id.example.com',
    HARNESS_OAUTH_JWKS_URL: 'http://id.example.com/jwks',
    HARNESS_PUBLIC_URL: 'https://harness.example.com/path',
    HARNESS_OAUTH_TENANT: 'a b',
  };
  for (const name of Object.keys(env)) await expect(oauthOf(env)).rejects.toThrow(name);
  await expect(oauthOf({ HARNESS_OAUTH_ISSUER: 'http://127.0.0.1:9000' })).resolves.toBeDefined();
});
