/** HTTP APIs as tools, by their OpenAPI document. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import type { OpenApiUpstream } from '../../../src/upstreams/file/upstream-config.ts';
import { openApiConnection } from '../../../src/upstreams/openapi/openapi-connection.ts';
import { bearer, type Gateway, keyFor, openGateway, probe } from '../../fixture.ts';
import { fileOf, type Shown, untilReady } from '../../published-servers.ts';

const callOf = async (gateway: Gateway, tool: string, args: object = {}) =>
  (await gateway.call('POST', `/v1/tools/${tool}`, { body: { arguments: args } })).body as {
    isError: boolean;
    content: { text: string }[];
    structuredContent?: Record<string, unknown>;
    error?: { code: string; message: string };
  };
const shownOf = async (gateway: Gateway) =>
  ((await gateway.call('GET', '/v1/upstreams')).body.upstreams as Shown[])[0] as Shown;

/** An API that answers with what it was sent. */
async function openEcho() {
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const body = (await request.toArray()).join('');
    const { authorization, 'x-trace': trace, 'content-type': type } = request.headers;
    const isMissing = request.url?.startsWith('/missing');
    response.writeHead(isMissing ? 404 : 200, { 'content-type': 'application/json' });
    const said = { method: request.method, url: request.url, body, authorization, trace, type };
    response.end(JSON.stringify(isMissing ? { error: 'nothing here' } : said));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

async function fileWith(document: object): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'api.json');
  await writeFile(file, JSON.stringify(document));
  return file;
}

const pets = {
  openapi: '3.0.3',
  info: { title: 'Pets', version: '7' },
  servers: [{ url: 'http://169.254.169.254/latest' }],
  paths: {
    '/pets/{petId}': {
      parameters: [{ name: 'petId', in: 'path', required: true, schema: { type: 'string' } }],
      get: {
        operationId: 'getPet',
        summary: 'One pet',
        parameters: [
          { name: 'fields', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
          { name: 'X-Trace', in: 'header', schema: { type: 'string' } },
        ],
        responses: {},
      },
      put: {
        operationId: 'replacePet',
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } },
        },
        responses: {},
      },
      delete: { operationId: 'deletePet', responses: {} },
    },
    '/missing': { get: { operationId: 'lose', responses: {} } },
    '/upload': {
      post: { operationId: 'upload', requestBody: { content: { 'multipart/form-data': {} } }, responses: {} },
    },
  },
  components: {
    schemas: {
      Pet: {
        type: 'object',
        required: ['name'],
        properties: {
          name: { type: 'string', maxLength: 20 },
          age: { type: 'integer', nullable: true, format: 'int32' },
          friends: { type: 'array', items: { $ref: '#/components/schemas/Pet' } },
          secret: { $ref: 'https://elsewhere.example/schema.json' },
        },
      },
    },
  },
};

test('operations are tools with a flat schema; answers are structured, errors are errors', async () => {
  const api = await openEcho();
  const entry = {
    openapi: await fileWith(pets),
    baseUrl: `${api.url}/v7/`,
    headers: { Authorization: 'Bearer of-the-operator' },
    operations: ['* /pets*', '!deletePet', 'lose', 'upload'],
  };
  const gateway = await openGateway({ upstreams: fileOf({ pets: entry }), plugins: [probe] });
  await untilReady(gateway, ['pets']);
  const shown = await shownOf(gateway);
  expect(shown).toMatchObject({ kind: 'openapi', era: null, server: { name: 'Pets', version: '7' } });
  expect(shown.tools).toEqual(['pets__getPet', 'pets__replacePet', 'pets__lose']);
  expect(shown.problems.join('\n')).toMatch(
    /POST \/upload: it is left out: its body is neither JSON nor a form/,
  );
  expect(shown.problems.join('\n')).toMatch(
    /"https:\/\/elsewhere.example\/schema.json" leads out of the document/,
  );
  const { inputSchema, annotations } = (await gateway.call('GET', '/v1/tools/pets__replacePet')).body;
  expect(annotations).toEqual({ readOnlyHint: false, idempotentHint: true });
  expect(inputSchema).toEqual({
    type: 'object',
    additionalProperties: false,
    required: ['petId', 'name'],
    properties: {
      petId: { type: 'string' },
      name: { type: 'string', maxLength: 20 },
      age: { type: ['integer', 'null'] },
      friends: { type: 'array', items: {} },
      secret: {},
    },
  });

  const got = await callOf(gateway, 'pets__getPet', { petId: 'a/b ?c', fields: ['x', 'y'], 'X-Trace': 't' });
  expect(got).toMatchObject({
    isError: false,
    structuredContent: {
      method: 'GET',
      url: '/v7/pets/a%2Fb%20%3Fc?fields=x&fields=y',
      trace: 't',
      authorization: 'Bearer of-the-operator',
    },
  });
  const put = await callOf(gateway, 'pets__replacePet', { petId: '1', name: 'Ada', age: null });
  expect(put.structuredContent).toMatchObject({
    method: 'PUT',
    type: 'application/json',
    body: '{"name":"Ada","age":null}',
  });
  expect(await callOf(gateway, 'pets__lose')).toEqual(
    expect.objectContaining({ isError: false }), // below the base address, so it is found
  );
  const wrong = await callOf(gateway, 'pets__replacePet', { petId: '1', name: 5 });
  expect(wrong.error).toMatchObject({
    code: 'invalid_tool_input',
    message: expect.stringContaining('/name: must be string'),
  });
});

test('no input leaves its place: line breaks, parts of paths, other addresses', async () => {
  const api = await openEcho();
  const entry = { openapi: await fileWith(pets), baseUrl: api.url };
  const gateway = await openGateway({ upstreams: fileOf({ pets: entry }), plugins: [probe] });
  await untilReady(gateway, ['pets']);
  for (const petId of ['..', '.', '', 'a\r\nb', 'a\0b'])
    expect([petId, (await callOf(gateway, 'pets__getPet', { petId })).error?.code]).toEqual([
      petId,
      'invalid_tool_input',
    ]);
  const split = await callOf(gateway, 'pets__getPet', { petId: '1', 'X-Trace': 'a\r\nEvil: 1' });
  expect(split.error?.code).toBe('invalid_tool_input');
  expect(api.asked).toEqual([]);
  expect(await callOf(gateway, 'pets__lose')).toMatchObject({
    isError: true,
    content: [{ text: '404 Not Found: {"error":"nothing here"}' }],
  });
  const lured = await openGateway({
    upstreams: fileOf({ pets: { openapi: entry.openapi } }),
    plugins: [probe],
  });
  await expect
    .poll(async () => (await shownOf(lured)).lastError)
    .toContain('names the server http://169.254.169.254/latest, which the upstreams file does not');
});

test('this gateway’s own API, imported into another one, works', async () => {
  const document = fileURLToPath(new URL('../../../../../openapi.yaml', import.meta.url));
  const keys = [keyFor('a-key-for-the-api')];
  const behind = await openGateway({ plugins: [probe], keys });
  const api = { openapi: document, baseUrl: behind.url, headers: bearer('a-key-for-the-api') };
  const gateway = await openGateway({ upstreams: fileOf({ api }), plugins: [] });
  await untilReady(gateway, ['api']);
  expect((await shownOf(gateway)).tools.length).toBeGreaterThan(60);
  const made = await callOf(gateway, 'api__createThread', { threadId: 'imported', metadata: { by: 'api' } });
  expect(made.structuredContent).toMatchObject({ threadId: 'imported', metadata: { by: 'api' } });
  const listed = await callOf(gateway, 'api__listThreads', { limit: 1 });
  expect(listed.structuredContent).toMatchObject({ threads: [{ threadId: 'imported' }] });
  const called = await callOf(gateway, 'api__callTool', { name: 'probe__strict', arguments: { n: 1 } });
  expect(called.structuredContent).toMatchObject({ content: [{ text: 'ran' }] });
  expect(await callOf(gateway, 'api__getThread', { threadId: 'none' })).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('404 Not Found') }],
  });
});

test('a document that never comes is given up in time', async () => {
  const server = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const [upstream] = fileOf({ mute: { openapi: `http://127.0.0.1:${port}/openapi.json` } }).upstreams;
  const { signal } = new AbortController();
  await expect(
    openApiConnection(upstream as OpenApiUpstream, { timeoutMs: 50, signal }),
  ).rejects.toMatchObject({ name: 'TimeoutError' });
});
