/**
 * Fuzzes every operation of openapi.yaml with requests made from its schemas, many of them invalid on
 * purpose. Each response must have a documented status and shape.
 */
import { Agent, type IncomingMessage, request as send } from 'node:http';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { parse } from 'yaml';
import { type Making, type Schema, valuesOf } from './values.ts';

interface Operation {
  method: string;
  path: string;
  operationId: string;
  parameters: { name: string; in: 'path' | 'query' | 'header'; schema: Schema }[];
  body: Schema | undefined;
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

interface FuzzRequest {
  operationId: string;
  method: string;
  /** As sent, escaped or not. */
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
}

interface Answer {
  status: number;
  type: string;
  text: string;
  /** The response was still being sent when the client disconnected. */
  isCut: boolean;
}

export interface FuzzOptions {
  /** Address of the gateway. */
  url: string;
  /** Text of openapi.yaml. */
  document: string;
  requests: number;
  seed?: number | undefined;
  /** Authorization headers to send, some of them invalid. */
  credentials: string[];
  /** Values for fields and parameters of these names, from the start. */
  known?: Record<string, string[]>;
}

export interface FuzzReport {
  requests: number;
  /** Number of responses by operation and status. */
  statuses: Record<string, Record<string, number>>;
}

/** Longest wait for a response, and time that a stream is read, ms. */
const patienceMs = 5_000;
const streamMs = 40;
/** A request that waits for something to happen is aborted after this time, ms. */
const waiting = new Set(['busPollTask', 'createRunAndWait']);
const waitingMs = 40;
/** How many of the latest ids of each kind are kept. */
const maxKnown = 30;

/** Throws with the smallest request whose response was not as documented. */
export async function fuzzOpenApi(options: FuzzOptions): Promise<FuzzReport> {
  const spec = parse(options.document);
  const operations = operationsOf(spec);
  const judge = createJudge(spec, operations);
  const known = createKnown(options.known ?? {});
  const statuses: FuzzReport['statuses'] = {};
  const resolve = (ref: string) =>
    ref
      .slice(2)
      .split('/')
      .reduce((at, part) => at[part], spec) as Schema;
  const making: Making = { resolve, known: known.of };
  const requests = fc.oneof(
    ...operations.map((operation) => requestsOf(operation, making, options.credentials)),
  );
  let count = 0;
  const property = fc.asyncProperty(requests, async (request) => {
    count++;
    const answer = await answerTo(options.url, request);
    if (!answer) return;
    const { operationId } = request;
    const seen = statuses[operationId] ?? {};
    statuses[operationId] = { ...seen, [answer.status]: (seen[answer.status] ?? 0) + 1 };
    known.note(answer);
    judge(request, answer);
  });
  await fc.assert(property, {
    numRuns: options.requests,
    ...(options.seed === undefined ? {} : { seed: options.seed }),
  });
  return { requests: count, statuses };
}

function operationsOf(spec: { paths: Record<string, Record<string, Record<string, unknown>>> }): Operation[] {
  return Object.entries(spec.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const {
        parameters = [],
        requestBody,
        responses,
        operationId,
      } = operation as unknown as Operation & {
        requestBody?: { content: Record<string, { schema: Schema }> };
      };
      const body = requestBody?.content['application/json']?.schema;
      return { method: method.toUpperCase(), path, operationId, parameters, body, responses };
    }),
  );
}

const token = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
});
/** Bodies that are not JSON, or JSON of no schema. */
const oddBodies = fc.constantFrom(
  '',
  '{',
  'null',
  '[]',
  '"x"',
  '{"a":1e309}',
  '{"__proto__":{"x":1}}',
  '{"metadata":{"\\ud83d":"\\udc00"}}',
  `${'['.repeat(300)}${']'.repeat(300)}`,
  `{"a":"${'x'.repeat(300_000)}"}`,
);
const oddTypes = fc.constantFrom(
  'application/json',
  'application/json; charset=utf-8',
  'application/jsonx',
  'text/plain',
  'multipart/form-data',
  '',
);

/** One time in twenty. */
const rarely = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 19, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

function requestsOf(operation: Operation, making: Making, credentials: string[]): fc.Arbitrary<FuzzRequest> {
  const placed = (place: string) => operation.parameters.filter((one) => one.in === place);
  const record = (place: string, freq: number) =>
    fc.record(
      Object.fromEntries(
        placed(place).map(({ name, schema }) => [
          name,
          fc.option(valuesOf(schema, making, { field: name }), { freq, nil: undefined }),
        ]),
      ),
    );
  const body = operation.body
    ? valuesOf(operation.body, making).map((value) => JSON.stringify(value))
    : fc.constant(undefined);
  return fc
    .record({
      params: record('path', Number.MAX_SAFE_INTEGER),
      query: record('query', 3),
      more: rarely(fc.tuple(token, token)),
      headers: record('header', 3),
      accept: fc.constantFrom(undefined, 'application/json', 'text/event-stream', '*/*'),
      authorization: fc.oneof(
        { weight: 20, arbitrary: fc.constant(credentials[0]) },
        { weight: 2, arbitrary: fc.constantFrom(...credentials) },
        { weight: 1, arbitrary: fc.option(token, { nil: undefined }) },
      ),
      body: fc.oneof({ weight: 15, arbitrary: body }, { weight: 1, arbitrary: oddBodies }),
      type: fc.oneof(
        { weight: 20, arbitrary: fc.constant('application/json') },
        { weight: 1, arbitrary: oddTypes },
      ),
      rawPath: rarely(fc.constantFrom('%', '%zz', '%ff', '?')),
    })
    .map(({ params, query, more, headers, accept, authorization, body: text, type, rawPath }) => {
      const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => escaped(params[name]));
      const pairs = [...Object.entries(query), ...(more ? [more] : [])].filter(
        ([, value]) => value !== undefined,
      );
      const search = pairs.map(([name, value]) => `${escaped(name)}=${escaped(value)}`).join('&');
      const sent = {
        ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, headerOf(value)])),
        accept,
        authorization,
        ...(text === undefined ? {} : { 'content-type': type }),
      };
      return {
        operationId: operation.operationId,
        method: operation.method,
        path: Buffer.from(`${path}${rawPath ?? ''}${search && `?${search}`}`).toString('latin1'),
        headers: Object.fromEntries(
          Object.entries(sent).filter(([, value]) => value !== undefined),
        ) as Record<string, string>,
        body: text,
      };
    });
}

/** A path segment or a part of a query; never empty, because that would be another path. */
const escaped = (value: unknown) =>
  encodeURIComponent((typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).toWellFormed()) ||
  'x';
const headerOf = (value: unknown) =>
  value === undefined ? undefined : String(value).replace(/[^\x20-\x7e]/g, '?');

/** A connection per request: one that was aborted cannot be reused. */
const agent = new Agent({ keepAlive: false });

function answerTo(
  url: string,
  { operationId, method, path, headers, body }: FuzzRequest,
): Promise<Answer | undefined> {
  return new Promise((resolve, reject) => {
    const request = send(
      url,
      { method, path: path.replaceAll(' ', '%20'), headers, agent },
      (response: IncomingMessage) => {
        const chunks: Buffer[] = [];
        const type = response.headers['content-type'] ?? '';
        const done = (isCut: boolean) => {
          clearTimeout(limit);
          resolve({ status: response.statusCode ?? 0, type, text: Buffer.concat(chunks).toString(), isCut });
          if (isCut) request.destroy();
        };
        const limit = setTimeout(
          () => done(true),
          type.startsWith('text/event-stream') ? streamMs : patienceMs,
        );
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => done(false));
        response.on('error', () => undefined); // it was destroyed here
      },
    );
    request.on('error', reject);
    const limitMs = waiting.has(operationId) ? waitingMs : patienceMs;
    request.setTimeout(limitMs, () => {
      if (waiting.has(operationId)) resolve(undefined);
      request.destroy(new Error(`no answer within ${limitMs} ms`));
    });
    request.end(body);
  });
}

/** Throws for a response that is not documented. */
function createJudge(spec: object, operations: Operation[]) {
  const byId = new Map(operations.map((operation) => [operation.operationId, operation]));
  const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }));
  ajv.addSchema(spec, 'openapi');
  const pointer = (...parts: string[]) =>
    parts.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
  const validators = new Map<string, ReturnType<typeof ajv.compile>>();
  const check = (ref: string, value: unknown) => {
    const validate = validators.get(ref) ?? ajv.compile({ $ref: `openapi#/${ref}` });
    validators.set(ref, validate);
    if (!validate(value))
      throw new Error(`${ajv.errorsText(validate.errors)} in ${JSON.stringify(value)?.slice(0, 500)}`);
  };
  return ({ operationId }: FuzzRequest, { status, type, text, isCut }: Answer) => {
    const operation = byId.get(operationId) as Operation;
    if (status >= 500 && status !== 503) throw new Error(`${status}: ${text.slice(0, 500)}`);
    const documented = operation.responses[status];
    if (!documented) throw new Error(`${operationId} does not document ${status}: ${text.slice(0, 500)}`);
    const { content } = documented;
    if (!content) {
      if (text !== '') throw new Error(`${status} is documented without a body: ${text.slice(0, 200)}`);
      return;
    }
    const [essence = ''] = type.split(';');
    if (!(essence in content)) throw new Error(`${status} is not documented as ${type}`);
    const ref = pointer(
      'paths',
      operation.path,
      operation.method.toLowerCase(),
      'responses',
      String(status),
      'content',
      essence,
      'schema',
    );
    if (essence === 'application/json') check(ref, JSON.parse(text));
    if (essence !== 'text/event-stream') return;
    const parser = createParser({ onEvent: ({ data }) => check(ref, JSON.parse(data)) });
    // An aborted stream may end within an event.
    parser.feed(isCut ? text.slice(0, text.lastIndexOf('\n\n') + 2) : text);
  };
}

/** Ids from responses, which later requests use. */
function createKnown(start: Record<string, string[]>) {
  const found = new Map(Object.entries(start).map(([field, values]) => [field, [...values]]));
  const add = (field: string, value: string) => {
    const values = found.get(field) ?? [];
    if (!values.includes(value)) values.push(value);
    found.set(field, values.slice(-maxKnown));
  };
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [field, inner] of Object.entries(value)) {
      if (typeof inner === 'string' && inner.length < 200 && idFields.has(field)) add(field, inner);
      else walk(inner);
    }
  };
  return {
    note({ status, text, type }: Answer) {
      if (status < 300 && type.startsWith('application/json')) walk(JSON.parse(text));
    },
    /** Read when a value is drawn, so that it includes the ids known by then. */
    of(field: string): fc.Arbitrary<string> | undefined {
      if (!idFields.has(field)) return undefined;
      const index = fc.nat(maxKnown - 1);
      const fallback = fc.stringMatching(/^[a-z]{1,8}$/);
      return fc.tuple(index, fallback).map(([at, other]) => {
        const values = found.get(field) ?? [];
        return values[at % Math.max(1, values.length)] ?? other;
      });
    },
  };
}

const idFields = new Set([
  'threadId',
  'runId',
  'taskId',
  'parentThreadId',
  'name',
  'worker',
  'plugin',
  'workerId',
  'workerName',
  'lease',
  'agent',
  'skill',
]);
