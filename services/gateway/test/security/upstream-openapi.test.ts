/** OpenAPI documents that cost much to read, and schemas that the validator cannot use. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type ConversionLimits, convertDocument } from '../../src/upstreams/openapi/convert-document.ts';
import { type Gateway, openGateway, probe } from '../fixture.ts';
import { fileOf, type Shown, untilReady } from '../published-servers.ts';

async function writeDocument(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'api.yaml');
  await writeFile(file, text);
  return file;
}
const documentOf = (paths: object, schemas: object = {}) =>
  JSON.stringify({ openapi: '3.1.0', info: { title: 'T', version: '1' }, paths, components: { schemas } });
const operationOf = (schema: object, parameters: object[] = []) => ({
  post: { parameters, requestBody: { content: { 'application/json': { schema } } } },
});
const shownOf = async (gateway: Gateway) =>
  ((await gateway.call('GET', '/v1/upstreams')).body.upstreams as Shown[])[0] as Shown;

/** References as they nest: each schema is a list of references to all. */
const web = (size: number, keyword: string) => {
  const refs = Array.from({ length: size }, (_, i) => ({ $ref: `#/components/schemas/S${i}` }));
  return Object.fromEntries(refs.map((_, i) => [`S${i}`, { [keyword]: refs, type: 'object' }]));
};
const manyOperations = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`/o${i}`, operationOf({ $ref: '#/components/schemas/S0' })]),
  );
const nestedAliases = (levels: number) =>
  ['x0: &x0 {type: string}']
    .concat(
      Array.from({ length: levels }, (_, i) => `x${i + 1}: &x${i + 1} {anyOf: [${Array(9).fill(`*x${i}`)}]}`),
    )
    .join('\n');

test.for([
  ['anyOf of references', documentOf(manyOperations(24), web(35, 'anyOf'))],
  ['allOf of references', documentOf(manyOperations(24), web(35, 'allOf'))],
  ['aliases of YAML', `openapi: 3.0.3\ninfo: {title: T, version: '1'}\npaths: {}\n${nestedAliases(7)}`],
] as const)('a small document that takes long to read costs itself alone: %s', async ([, text]) => {
  expect(text.length).toBeLessThan(64_000);
  const openapi = await writeDocument(text);
  const gateway = await openGateway({
    upstreams: fileOf({ api: { openapi, baseUrl: 'http://127.0.0.1:9' } }),
    plugins: [probe],
  });
  let slowest = 0;
  for (let shown = await shownOf(gateway); shown.state === 'connecting'; shown = await shownOf(gateway)) {
    const before = process.threadCpuUsage();
    await gateway.call('GET', '/healthz');
    const { user, system } = process.threadCpuUsage(before);
    slowest = Math.max(slowest, (user + system) / 1000);
  }

  // CPU time of the gateway's thread, ms, which a busy machine does not change: read here, the document took 1.8 s of it.
  expect(slowest).toBeLessThan(1_000);
});

test('a document that exceeds the limits of its process is refused, with the limit', async () => {
  const text = documentOf(manyOperations(1_000), web(35, 'anyOf'));
  const { signal } = new AbortController();
  const convert = (limits: ConversionLimits) =>
    convertDocument({ text, patterns: undefined }, signal, limits);
  await expect(convert({ cpuSeconds: 1, memoryMb: 512 })).rejects.toThrow(
    'took more than 1 s of CPU to read',
  );
  await expect(convert({ cpuSeconds: 10, memoryMb: 40 })).rejects.toThrow('needs more than 40 MB to be read');
});

/** An API that counts what it is asked. */
async function openApi() {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    response.end('ok');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked };
}

test('what the validator cannot use of a schema is left out and reported, and the rest is checked', async () => {
  const api = await openApi();
  const text = { type: 'string' };
  const properties = {
    ahead: { type: 'string', pattern: '^(?!x)a', maxLength: 3 },
    odd: { type: 'string', minLength: '2', enum: [], maxLength: 4 },
    not: { not: { type: 'string', pattern: '(?=a)b' } },
    one: {
      oneOf: [
        { type: 'string', pattern: '^(?=a)' },
        { type: 'string', pattern: '^(?=b)' },
      ],
    },
    count: { type: 'integer' },
  };
  const many = Object.fromEntries(
    Array.from({ length: 700 }, (_, i) => [`p${i}`, { anyOf: [text, { type: 'null' }] }]),
  );
  const paths = {
    '/strict': operationOf({ type: 'object', properties, required: ['count'] }),
    '/large': operationOf({
      type: 'object',
      properties: { count: { type: 'integer' }, ...many },
      required: ['count'],
    }),
  };
  const openapi = await writeDocument(documentOf(paths));
  const gateway = await openGateway({
    upstreams: fileOf({ api: { openapi, baseUrl: api.url } }),
    plugins: [probe],
  });
  const [shown] = await untilReady(gateway, ['api']);
  expect(shown?.problems.join('\n')).toContain('pattern "^(?!x)a" is refused');
  const call = async (tool: string, args: object) =>
    (await gateway.call('POST', `/v1/tools/api__${tool}`, { body: { arguments: args } })).body;
  const refused: [string, object][] = [
    ['post_strict', {}],
    ['post_strict', { count: 'x' }],
    ['post_strict', { count: 1, other: 1 }],
    ['post_strict', { count: 1, ahead: 'abcd' }],
    ['post_strict', { count: 1, odd: 'abcde' }],
    ['post_large', {}],
    ['post_large', { count: 'x' }],
    ['post_large', { count: 1, other: 1 }],
  ];
  for (const [tool, args] of refused)
    expect([tool, args, await call(tool, args)]).toMatchObject([
      tool,
      args,
      { error: { code: 'invalid_tool_input' } },
    ]);
  expect(api.asked()).toBe(0);
  for (const args of [{ ahead: 'xab', odd: '', not: 'ab', one: 'b' }, {}])
    expect(await call('post_strict', { count: 1, ...args })).toMatchObject({ isError: false });
  expect(await call('post_large', { count: 1, p5: null })).toMatchObject({ isError: false });
});
