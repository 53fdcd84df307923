import { expect, test } from 'vitest';
import { bearer, type Gateway, keyFor, openGateway, probe } from '../fixture.ts';

/** An origin that the fixture's gateway allows. */
const origin = 'https://app.test';
const strangers = ['https://evil.test', 'https://app.test.evil', 'http://app.test', 'null'];
const corsOf = (headers: Headers) =>
  [...headers].filter(([name]) => name.startsWith('access-control-')).toSorted();
const readable = [
  ['access-control-allow-origin', origin],
  ['access-control-expose-headers', 'Mcp-Session-Id, WWW-Authenticate, Content-Location, Retry-After, ETag'],
];

const preflight = (gateway: Gateway, path: string, from: string) =>
  gateway.call('OPTIONS', path, {
    headers: {
      origin: from,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,mcp-protocol-version',
    },
  });

test('a preflight needs no token, and succeeds only for allowed origins, on every route', async () => {
  const gateway = await openGateway({ keys: [keyFor('some-key')] });
  for (const { url } of gateway.routes) {
    const path = url.replaceAll(/:\w+/g, 'x');
    const { status, headers } = await preflight(gateway, path, origin);
    expect([url, status, corsOf(headers)]).toEqual([
      url,
      204,
      [
        ['access-control-allow-headers', 'authorization,content-type,mcp-protocol-version'],
        ['access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE'],
        readable[0],
        readable[1],
        ['access-control-max-age', '600'],
      ],
    ]);
    const refused = await preflight(gateway, path, 'https://evil.test');
    expect([url, refused.status, corsOf(refused.headers)]).toEqual([url, 403, []]);
  }
  for (const stranger of strangers) {
    const { status, headers } = await preflight(gateway, '/mcp', stranger);
    expect([stranger, status, corsOf(headers)]).toEqual([stranger, 403, []]);
  }
  // OPTIONS that is no preflight is a request like any other.
  expect((await gateway.call('OPTIONS', '/v1/threads', { headers: { origin } })).status).toBe(401);
});

test('an allowed page can read REST, streams, both eras of MCP, and errors', async () => {
  const gateway = await openGateway({ plugins: [probe], keys: [keyFor('some-key')] });
  const asPage = { origin, ...bearer('some-key') };
  const created = await gateway.call('POST', '/v1/threads', { body: {}, headers: asPage });
  expect([created.status, corsOf(created.headers)]).toEqual([201, readable]);
  expect(created.headers.get('vary')).toBe('Origin');

  const events = await gateway.call('GET', `/v1/threads/${created.body.threadId}/events`, {
    headers: asPage,
  });
  expect([events.status, corsOf(events.headers)]).toEqual([200, readable]);
  expect(events.headers.get('content-type')).toContain('text/event-stream');

  const accept = { accept: 'application/json, text/event-stream' };
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const modern = { ...list, params: { _meta: envelope } };
  const era = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
  for (const { body, headers } of [{ body: list }, { body: modern, headers: era }]) {
    const answer = await gateway.call('POST', '/mcp', {
      body,
      headers: { ...asPage, ...accept, ...headers },
    });
    expect([answer.status, corsOf(answer.headers)]).toEqual([200, readable]);
    expect(JSON.stringify(answer.body)).toContain('probe__whoami');
  }

  const refused = await gateway.call('POST', '/mcp', { body: list, headers: { origin, ...accept } });
  expect([refused.status, corsOf(refused.headers)]).toEqual([401, readable]);
  expect(refused.headers.get('www-authenticate')).toBe('Bearer');
});

test('requests without Origin get no CORS headers, and other origins are refused', async () => {
  const gateway = await openGateway({ keys: [keyFor('some-key')] });
  const plain = await gateway.call('GET', '/v1/threads', { headers: bearer('some-key') });
  expect([plain.status, corsOf(plain.headers)]).toEqual([200, []]);
  expect(plain.headers.get('vary')).toBe('Origin');
  for (const stranger of strangers) {
    for (const path of ['/v1/threads', '/mcp', '/healthz', '/docs']) {
      const headers = { origin: stranger, ...bearer('some-key') };
      const answer = await gateway.call('GET', path, { headers });
      expect([path, answer.status, corsOf(answer.headers)]).toEqual([path, 403, []]);
    }
  }
});
