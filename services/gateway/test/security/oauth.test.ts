import { Writable } from 'node:stream';
import { signThreadToken } from '@harness/contracts';
import { definePlugin } from '@harness/plugin-kit';
import { freePort, type Logger } from '@harness/runtime';
import { ClientCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { fastify } from 'fastify';
import { createRemoteJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT, UnsecuredJWT } from 'jose';
import { expect, onTestFinished, test } from 'vitest';
import { audience, openAuthorizationServer, trusting } from '../authorization-server.ts';
import { createCounter } from '../counter.ts';
import {
  bearer,
  connectTestRedis,
  keyFor,
  openFakeWorker,
  openGateway,
  probe,
  tokenSecret,
} from '../fixture.ts';

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
const accept = { accept: 'application/json, text/event-stream' };
const restMetadata = `resource_metadata="${audience}/.well-known/oauth-protected-resource"`;
const mcpMetadata = `resource_metadata="${audience}/.well-known/oauth-protected-resource/mcp"`;

test('an access token is accepted at REST and /mcp for its tenant and scopes, besides keys and thread tokens', async () => {
  const server = await openAuthorizationServer();
  const keys = [keyFor('a-key-of-acme', { tenant: 'acme' })];
  const gateway = await openGateway({ oauth: trusting(server), plugins: [probe], keys });
  const access = bearer(await server.sign());

  const { status, body } = await gateway.call('POST', '/v1/threads', { body: {}, headers: access });
  expect(status).toBe(201);
  const { threadId } = body;
  await expect(gateway.dispatch.threads.get('acme', threadId)).resolves.toMatchObject({ threadId });
  const asKey = await gateway.call('GET', `/v1/threads/${threadId}`, { headers: bearer('a-key-of-acme') });
  expect(asKey.status).toBe(200);
  const other = bearer(await server.sign({ tenant: 'umbrella' }));
  expect((await gateway.call('GET', `/v1/threads/${threadId}`, { headers: other })).status).toBe(404);

  const overMcp = await gateway.call('POST', '/mcp', { body: list, headers: { ...accept, ...access } });
  expect([overMcp.status, JSON.stringify(overMcp.body)]).toEqual([
    200,
    expect.stringContaining('probe__whoami'),
  ]);
  const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
  const run = { tenant: 'acme', threadId, request: { input: 'x' }, idempotencyKey: 'k' };
  await gateway.dispatch.runs.append(run);
  const { hold } = await worker.begin(threadId);
  const session = await signThreadToken({ threadId, tenant: 'acme', epoch: hold.epoch }, tokenSecret);
  expect(
    (await gateway.call('POST', '/mcp', { body: list, headers: { ...accept, ...bearer(session) } })).status,
  ).toBe(200);
});

test('scopes come from `scope` or `scp`, as a string or a list; unknown ones are ignored', async () => {
  const server = await openAuthorizationServer();
  const gateway = await openGateway({ oauth: trusting(server) });
  const mayList = async (claims: object) => {
    const token = await server.sign({ scope: undefined, ...claims });
    return (await gateway.call('GET', '/v1/threads', { headers: bearer(token) })).status === 200;
  };
  expect(await mayList({ scope: 'openid threads' })).toBe(true);
  expect(await mayList({ scp: 'threads' })).toBe(true);
  expect(await mayList({ scp: ['profile', 'threads'] })).toBe(true);
  expect(await mayList({ scope: 'threads.read', scp: [{ threads: true }] })).toBe(false);
  expect(await mayList({})).toBe(false);
});

test('without a tenant claim a token is refused, unless a tenant is configured for such tokens', async () => {
  const server = await openAuthorizationServer();
  const strict = await openGateway({ oauth: trusting(server) });
  const lenient = await openGateway({ oauth: trusting(server, { tenant: 'solo', tenantClaim: 'org' }) });
  const list = async (gateway: typeof strict, claims: object) =>
    (await gateway.call('GET', '/v1/threads', { headers: bearer(await server.sign(claims)) })).status;
  expect(await list(strict, { tenant: undefined })).toBe(401);
  expect(await list(strict, { tenant: 'a/b' })).toBe(401);
  expect(await list(strict, { tenant: ['acme'] })).toBe(401);
  expect(await list(lenient, { org: '' })).toBe(401);
  await lenient.call('POST', '/v1/threads', {
    body: {},
    headers: bearer(await server.sign({ org: undefined })),
  });
  expect((await lenient.dispatch.threads.list('solo', { limit: 9 })).threads).toHaveLength(1);
});

test('a forged or expired token, or one for another audience, is refused at REST and /mcp, without effects', async () => {
  const server = await openAuthorizationServer();
  const counter = createCounter();
  const gateway = await openGateway({ oauth: trusting(server), plugins: [counter.plugin] });
  const now = Math.floor(Date.now() / 1000);
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const claims = { iss: server.issuer, aud: audience, sub: 'ada', tenant: 'acme', scope: 'tools threads' };
  const kid = server.publicKey().kid as string;
  const good = await server.sign();
  const [head, , signature] = good.split('.');
  const raised = Buffer.from(JSON.stringify({ ...claims, exp: now + 300, tenant: 'root' })).toString(
    'base64url',
  );
  const bad: Record<string, string> = {
    garbage: 'garbage',
    'three dots': 'a.b.c',
    expired: await server.sign({ exp: now - 60 }),
    'not yet valid': await server.sign({ nbf: now + 600 }),
    'without an end': await server.sign({ exp: undefined }),
    'of another issuer': await server.sign({ iss: 'https://evil.test' }),
    'for another audience': await server.sign({ aud: 'https://other.test' }),
    'for a path of ours that is none': await server.sign({ aud: `${audience}/other` }),
    'for a list of others': await server.sign({ aud: ['https://other.test', `${audience}.evil.test`] }),
    'without an audience': await server.sign({ aud: undefined }),
    'without a subject': await server.sign({ sub: undefined }),
    'with an empty subject': await server.sign({ sub: ' ' }),
    'that lives for years': await server.sign({ exp: now + 10 * 365 * 86_400 }),
    'that lives for years and hides its age': await server.sign({
      iat: undefined,
      exp: now + 10 * 365 * 86_400,
    }),
    'that lives for years and begins late': await server.sign({
      iat: now + 10 * 365 * 86_400 - 60,
      exp: now + 10 * 365 * 86_400,
    }),
    'of another kind': await server.sign({}, 'logout+jwt'),
    'of a key that is not theirs': await new SignJWT({ ...claims, exp: now + 300 })
      .setProtectedHeader({ alg: 'ES256', kid })
      .sign(privateKey),
    'that brings its own key': await new SignJWT({ ...claims, exp: now + 300 })
      .setProtectedHeader({ alg: 'ES256', jwk: await exportJWK(publicKey) })
      .sign(privateKey),
    'signed with the public key as a shared secret': await new SignJWT({ ...claims, exp: now + 300 })
      .setProtectedHeader({ alg: 'HS256', kid })
      .sign(new TextEncoder().encode(JSON.stringify(server.publicKey()))),
    'signed by nobody': new UnsecuredJWT({ ...claims, exp: now + 300 }).encode(),
    'whose claims were changed': [head, raised, signature].join('.'),
  };
  const called = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'counter__count' } };
  for (const [what, token] of Object.entries(bad)) {
    const onRest = await gateway.call('POST', '/v1/tools/counter__count', {
      body: {},
      headers: bearer(token),
    });
    expect([what, onRest.status]).toEqual([what, 401]);
    expect(onRest.headers.get('www-authenticate')).toBe(`Bearer error="invalid_token", ${restMetadata}`);
    const onMcp = await gateway.call('POST', '/mcp', {
      body: called,
      headers: { ...accept, ...bearer(token) },
    });
    expect([what, onMcp.status]).toEqual([what, 401]);
    expect(onMcp.headers.get('www-authenticate')).toBe(`Bearer error="invalid_token", ${mcpMetadata}`);
  }
  expect(counter.ran()).toBe(0);
  expect(
    (await gateway.call('POST', '/v1/tools/counter__count', { body: {}, headers: bearer(good) })).status,
  ).toBe(200);
  expect(counter.ran()).toBe(1);
  // Proves that the fake server signs valid tokens, so that each bad token fails for its own reason.
  const theirs = createRemoteJWKSet(new URL(`${server.issuer}/jwks`));
  await expect(jwtVerify(bad['for another audience'] as string, theirs)).resolves.toBeDefined();
});

test('an ID token is refused; a server that sets no `typ` is understood, until it sets one', async () => {
  const server = await openAuthorizationServer();
  const gateway = await openGateway({ oauth: trusting(server) });
  const statusOf = async (claims: object, typ: string) =>
    (await gateway.call('GET', '/v1/threads', { headers: bearer(await server.sign(claims, typ)) })).status;
  expect(await statusOf({}, 'JWT')).toBe(200);
  expect(await statusOf({ nonce: 'n' }, 'JWT')).toBe(401);
  expect(await statusOf({ at_hash: 'h' }, 'JWT')).toBe(401);
  expect(await statusOf({}, 'application/at+jwt')).toBe(200);
  expect(await statusOf({}, 'JWT')).toBe(401);
});

test('a caller without a token learns where to get one, and one without a scope learns which', async () => {
  const server = await openAuthorizationServer();
  const gateway = await openGateway({ oauth: trusting(server) });
  const onRest = await gateway.call('GET', '/v1/threads');
  expect([onRest.status, onRest.headers.get('www-authenticate')]).toEqual([401, `Bearer ${restMetadata}`]);
  const onMcp = await gateway.call('POST', '/mcp', { body: list, headers: accept });
  expect([onMcp.status, onMcp.headers.get('www-authenticate')]).toEqual([401, `Bearer ${mcpMetadata}`]);

  const poor = bearer(await server.sign({ scope: 'tasks' }));
  const refused = await gateway.call('GET', '/v1/threads', { headers: poor });
  expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
    403,
    `Bearer error="insufficient_scope", scope="threads", ${restMetadata}`,
  ]);
  const refusedMcp = await gateway.call('POST', '/mcp', { body: list, headers: { ...accept, ...poor } });
  expect([refusedMcp.status, refusedMcp.headers.get('www-authenticate')]).toEqual([
    403,
    `Bearer error="insufficient_scope", scope="tools", ${mcpMetadata}`,
  ]);
});

test('the metadata of RFC 9728 is public, and absent without an issuer', async () => {
  const server = await openAuthorizationServer();
  const gateway = await openGateway({ oauth: trusting(server) });
  const path = '/.well-known/oauth-protected-resource';
  expect((await gateway.call('GET', path)).body).toEqual({
    resource: audience,
    authorization_servers: [server.issuer],
    scopes_supported: ['threads', 'tools', 'tasks', 'bus', 'admin', 'fleet', 'metrics'],
    bearer_methods_supported: ['header'],
    resource_name: 'harness',
    resource_documentation: `${audience}/docs`,
  });
  expect((await gateway.call('GET', `${path}/mcp`)).body).toMatchObject({ resource: `${audience}/mcp` });
  const without = await openGateway({ keys: [keyFor('some-key')] });
  expect((await without.call('GET', `${path}/mcp`)).status).toBe(404);
});

test('an official MCP client gets from a bare URL to a tool call', async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = await openAuthorizationServer({ path: '/realms/acme' });
  const settings = trusting(server, {
    publicUrl: url,
    audiences: [`${url}/mcp`],
    resources: { rest: url, mcp: `${url}/mcp` },
  });
  await openGateway({ oauth: settings, port, plugins: [probe] });
  const authProvider = new ClientCredentialsProvider({
    clientId: 'robot',
    clientSecret: 'secret',
    scope: 'tools', // this grant of the SDK does not read scopes_supported
    expectedIssuer: server.issuer,
  });
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider });
  await client.connect(transport as Transport);
  onTestFinished(() => client.close());
  const { content } = await client.callTool({ name: 'probe__whoami', arguments: {} });
  expect(JSON.parse((content as { text: string }[])[0]?.text ?? '')).toMatchObject({ tenant: 'acme' });
});

test('a token is neither logged nor passed to a tool', async () => {
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const logger = fastify({ logger: { level: 'trace', stream } }).log as unknown as Logger;
  const server = await openAuthorizationServer();
  const telltale = definePlugin({
    name: 'telltale',
    version: '1.0.0',
    tools: [
      {
        name: 'tell',
        description: 'Tells all it was given',
        schema: {},
        handler: (_ctx, input, meta) => JSON.stringify({ input, meta }),
      },
    ],
    register: () => ({}),
  });
  const gateway = await openGateway({ oauth: trusting(server), plugins: [telltale], logger });
  const good = await server.sign();
  const stale = await server.sign({ exp: 1 });
  const onRest = await gateway.call('POST', '/v1/tools/telltale__tell', { body: {}, headers: bearer(good) });
  const called = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'telltale__tell' } };
  const onMcp = await gateway.call('POST', '/mcp', { body: called, headers: { ...accept, ...bearer(good) } });
  const refused = await gateway.call('POST', '/mcp', {
    body: called,
    headers: { ...accept, ...bearer(stale) },
  });
  expect(JSON.stringify(onRest.body)).toContain('oauth:ada');
  expect(JSON.stringify(onMcp.body)).toContain('oauth:ada');
  expect(refused.status).toBe(401);
  expect(lines.join('')).toContain('it has expired');
  for (const part of [good, stale].flatMap((token) => token.split('.').slice(1))) {
    expect(lines.join('')).not.toContain(part);
    expect(JSON.stringify([onRest.body, onMcp.body])).not.toContain(part);
  }
});
