/** Secrets that an upstream repeats, in whatever spelling, are in no error, log line or report. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { createLogger } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { type Gateway, openGateway, probe } from '../fixture.ts';
import { clientAt, fileOf, untilReady } from '../published-servers.ts';

const main = fileURLToPath(new URL('../hostile-server.ts', import.meta.url));
const secret = 'p@ss/wörd+"1"';
const spellings = [
  secret,
  ...['', 'u', 'us', 'user:'].map((before) =>
    Buffer.from(`${before}${secret}`).toString('base64').slice(8, 16),
  ),
  Buffer.from(secret).toString('hex'),
  encodeURIComponent(secret),
  JSON.stringify(secret).slice(1, -1),
];

function logLines() {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  return { lines, logger: createLogger('test', 'debug', { destination }) };
}
async function expectSecretless(gateway: Gateway, texts: readonly unknown[], secrets = spellings) {
  const all = JSON.stringify([...texts, (await gateway.call('GET', '/v1/upstreams')).body]);
  const nested = JSON.stringify(all);
  for (const one of secrets) for (const text of [all, nested]) expect(text).not.toContain(one);
}

test('a child: its errors, their data, its log lines and its standard error', async () => {
  const { lines, logger } = logLines();
  const env = { API_TOKEN: secret };
  const upstreams = fileOf({
    leaks: { command: process.execPath, args: [main, 'leaks'], env },
    dies: {
      command: 'sh',
      args: ['-c', 'echo "bad $API_TOKEN: $(printf %s "$API_TOKEN" | base64)" >&2; exit 1'],
      env,
    },
  });
  const gateway = await openGateway({ upstreams, plugins: [probe], logger });
  await untilReady(gateway, ['leaks']);
  const client = await clientAt(gateway.url, 'legacy');
  const heard: unknown[] = [];
  client.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params));
  await client.setLoggingLevel('debug');
  const failed = await client.callTool({ name: 'leaks__leak-all', arguments: {} });
  expect(failed).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('refused: Bearer [secret]') }],
  });
  await expect.poll(() => heard.length).toBeGreaterThan(0);
  const { body } = await gateway.call('POST', '/v1/tools/leaks__leak-all', { body: {} });
  const lastErrorOf = async () => JSON.stringify((await gateway.call('GET', '/v1/upstreams')).body);
  await expect.poll(lastErrorOf).toContain('bad [secret]: [secret]');
  await expectSecretless(gateway, [failed, heard, body, lines]);
});

/** An MCP server, and its authorization server, that repeat in every error what they were sent. */
async function openEcho(
  answer: (request: IncomingMessage, message: { id?: number; method?: string }) => object,
) {
  const token = 'opaque-token-of-the-issuer';
  const send = (response: ServerResponse, body: object, status = 200) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const server = createServer(async (request, response) => {
    const origin = `http://${request.headers.host}`;
    if (request.url?.startsWith('/.well-known/oauth-authorization-server'))
      return send(response, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        response_types_supported: ['code'],
      });
    if (request.url === '/token')
      return send(response, { access_token: token, token_type: 'Bearer', expires_in: 600 });
    if (request.method !== 'POST') return response.writeHead(405).end();
    const message = (await json(request)) as { id?: number; method?: string };
    if (message.id === undefined) return response.writeHead(202).end();
    send(response, { jsonrpc: '2.0', id: message.id, ...answer(request, message) });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token };
}

test('a server of HTTP: headers, the address, the OAuth client and its tokens, also in the tool names and reasons', async () => {
  const { lines, logger } = logLines();
  const parts: Record<string, object> = {
    initialize: {
      protocolVersion: '2025-11-25',
      serverInfo: { name: 'echo', version: '1' },
      capabilities: { tools: {} },
    },
    'tools/list': {
      tools: [
        { name: 'say', inputSchema: {} },
        { name: `a\u200b`, inputSchema: {}, title: secret },
      ],
    },
  };
  const { origin, token } = await openEcho(({ headers, url }, { method = '' }) =>
    Object.hasOwn(parts, method)
      ? { result: parts[method] }
      : {
          error: {
            code: -32000,
            message: `refused ${url} ${Object.values(headers)}`,
            data: { headers, url },
          },
        },
  );
  const credentials = { clientId: 'me', clientSecret: 'the-secret-of-the-client', issuer: origin };
  const headers = {
    'X-Own': 'of-the-header-1',
    Authorization: `Basic ${Buffer.from('ada:of-basic-1').toString('base64')}`,
  };
  const upstreams = fileOf({
    keyed: { url: `${origin}/mcp?key=of-the-query`, headers },
    oauth: { url: `${origin}/mcp`, auth: credentials },
  });
  const gateway = await openGateway({ upstreams, plugins: [probe], logger });
  await untilReady(gateway, ['keyed', 'oauth']);
  const call = async (tool: string) => (await gateway.call('POST', `/v1/tools/${tool}`, { body: {} })).body;
  const failed = [await call('keyed__say'), await call('oauth__say')];
  expect(failed).toMatchObject([
    { isError: true },
    { isError: true, content: [{ text: expect.stringContaining('[secret],application/json') }] },
  ]);
  const basic = headers.Authorization.slice('Basic '.length);
  const secrets = ['of-the-query', 'of-the-header-1', basic, 'of-basic-1', token, 'the-secret-of-the-client'];
  await expectSecretless(gateway, [failed, lines], secrets);
});
