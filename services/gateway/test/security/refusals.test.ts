/** Requests that no route handles get an error of the usual shape. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { builtInPlugins } from '@harness/plugins';
import { createLogger } from '@harness/runtime';
import { expect, test } from 'vitest';
import { connectTestRedis, openFakeWorker, openGateway, probe } from '../fixture.ts';

/** Sends raw bytes; returns status and body of the response. */
async function sendRaw(url: string, text: string) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(text);
  let answer = '';
  for await (const chunk of socket) {
    answer += chunk;
    const [head = '', body] = answer.split('\r\n\r\n');
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
    if (body !== undefined && Buffer.byteLength(body) >= length) break;
  }
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), head, error: JSON.parse(body).error };
}

test('every error has the same shape, also those of Fastify and of Node’s parser', async () => {
  const { url } = await openGateway();
  const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${more}\r\n`;
  const post = (path: string, type: string, body: string) =>
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  const cases: [sent: string, status: number, code: string][] = [
    [get('/v1/threads/%zz'), 400, 'invalid_request'],
    [get('/%'), 400, 'invalid_request'],
    [get('/nowhere'), 404, 'not_found'],
    [get(`/v1/threads/${'x'.repeat(300)}`), 414, 'url_too_long'],
    [get('/healthz', `X: ${'x'.repeat(40_000)}\r\n`), 431, 'headers_too_large'],
    [get(`/${'x'.repeat(40_000)}`), 431, 'headers_too_large'],
    ['HELLO\r\n\r\n', 400, 'invalid_request'],
    ['GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n', 400, 'invalid_request'],
    ['GET /healthz HTTP/1.1\r\n\r\n', 400, 'invalid_request'],
    ['GET /healthz HTTP/1.0\r\n\r\n', 400, 'invalid_request'],
    [
      'POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
      400,
      'invalid_request',
    ],
    ['CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n', 405, 'method_not_allowed'],
    [get('/healthz', 'Expect: magic\r\n'), 400, 'invalid_request'],
    [post('/v1/threads', 'text/plain', '{}'), 415, 'unsupported_media_type'],
    [post('/v1/threads', 'application/jsonx', '{}'), 415, 'unsupported_media_type'],
    [post('/mcp', 'application/jsonx', '{}'), 415, 'unsupported_media_type'],
    [post('/v1/threads', 'application/json', `"${'x'.repeat(300_000)}"`), 413, 'body_too_large'],
    [post('/v1/threads', 'application/json', ''), 400, 'invalid_request'],
  ];
  for (const [sent, status, code] of cases) {
    const answer = await sendRaw(url, sent);
    const found = answer.error?.data?.code ?? answer.error?.code; // MCP's refusals are JSON-RPC
    expect([sent.slice(0, 60), answer.status, found]).toEqual([sent.slice(0, 60), status, code]);
    expect(answer.head.toLowerCase()).toContain('content-type: application/json');
  }
});

test('input that is not HTTP is refused after the responses to the requests before it', async () => {
  const { url } = await openGateway();
  const { hostname, port } = new URL(url);
  const get = 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
  const badChunk =
    'POST /v1/threads HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n';
  const long = `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: ${'x'.repeat(40_000)}\r\n\r\n`;
  for (const [parts, statuses] of [
    [
      [get, 'HELLO\r\n\r\n'],
      [200, 400],
    ],
    [
      [get, badChunk],
      [200, 400],
    ],
    [
      [get, long],
      [200, 431],
    ],
    [[`${get}${get}${get}HELLO\r\n\r\nHELLO`], [200, 200, 200, 400]],
  ] as const) {
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
    });
    for (const part of parts) {
      const before = answer;
      socket.write(part);
      await expect.poll(() => answer !== before).toBe(true);
    }
    if (!socket.closed) await once(socket, 'close');
    const found = [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
    expect(found).toEqual(statuses);
    expect(answer).toMatch(/\{"error":\{"code":"[a-z_]+"[^{]*\}\}$/);
  }
});

test('a 405 of an existing path names its methods', async () => {
  const { call } = await openGateway();
  for (const [method, path, allow] of [
    ['PUT', '/v1/threads', 'POST, GET, HEAD'],
    ['POST', `/v1/threads/thr_${'0'.repeat(32)}`, 'GET, HEAD, PATCH, DELETE'],
    ['DELETE', '/healthz', 'GET, HEAD'],
  ] as const) {
    const { status, headers, body } = await call(method, path);
    expect([status, body.error.code]).toEqual([405, 'method_not_allowed']);
    expect(new Set(headers.get('allow')?.split(', '))).toEqual(new Set(allow.split(', ')));
  }
});

test('half a surrogate pair is replaced at every endpoint: no error, and nothing logged', async () => {
  const lines: string[] = [];
  const logger = createLogger('test', 'debug', {
    destination: { write: (line: string) => void lines.push(line) },
  });
  const { call, dispatch } = await openGateway({ logger, plugins: [...builtInPlugins, probe] });
  const half = '\\ud83d';
  const { body: thread } = await call('POST', '/v1/threads', {
    body: `{"systemPrompt":"${half}","metadata":{"${half}":["${half}"]}}`,
  });
  expect(thread.metadata).toEqual({ '\ufffd': ['\ufffd'] });
  const path = `/v1/threads/${thread.threadId}`;
  const secret = `secret-${randomUUID()}`;
  for (const [at, body, status] of [
    [`${path}/runs`, `{"input":"${secret}${half}","metadata":{"a":"${half}"}}`, 202],
    ['/v1/tasks', `{"prompt":"${secret}${half}","parentThreadId":"${thread.threadId}"}`, 201],
    ['/v1/bus/tasks', `{"taskId":"t","payload":{"${half}":"${secret}${half}"}}`, 201],
    ['/v1/tools/probe__whoami', `{"arguments":{"a":"${secret}${half}"}}`, 200],
  ] as const) {
    const answer = await call('POST', at, { body });
    expect([at, answer.status]).toEqual([at, status]);
    expect(JSON.stringify(answer.body)).not.toContain(half);
  }
  // Output of models and tools arrives on another path.
  const worker = await openFakeWorker(dispatch, connectTestRedis());
  const ended = await worker.finish(thread.threadId, { status: 'success', result: `${secret} x\ud83d` });
  expect((await call('GET', `${path}/runs/${ended.runId}`)).body).toMatchObject({
    result: `${secret} x\ufffd`,
  });
  expect(lines.join('')).not.toContain(secret);
});

test('an error of Redis is reported without its text and without the sent data', async () => {
  const lines: string[] = [];
  const logger = createLogger('test', 'debug', {
    destination: { write: (line: string) => void lines.push(line) },
  });
  const tag = randomUUID();
  const { call, dispatch } = await openGateway({ logger, tag, plugins: builtInPlugins });
  const redis = connectTestRedis();
  const { body: thread } = await call('POST', '/v1/threads', { body: {} });
  await redis.set(dispatch.keys.of('mb', thread.threadId), 'not a mailbox');
  await redis.set(dispatch.keys.of('bts', 'default'), 'not a list');
  const secret = `secret-${randomUUID()}`;
  for (const [path, body] of [
    [`/v1/threads/${thread.threadId}/runs`, { input: secret }],
    ['/v1/bus/tasks', { taskId: 't', payload: { secret } }],
    ['/v1/tools/bus__submit_task', { arguments: { taskId: 't', payload: { secret } } }],
  ] as const) {
    const answer = await call('POST', path, { body });
    const found = JSON.stringify(answer.body);
    expect(found).not.toMatch(/WRONGTYPE|script|ERR |redis/i);
    expect(found).toContain('the log has the cause');
  }
  expect(lines.join('')).toContain('WRONGTYPE'); // the log has the cause for the operator
  expect(lines.join('')).not.toContain(secret);
});
