/** Requests made from the operations of openapi.yaml, many of them invalid on purpose. */
import fc from 'fast-check';
import { type Making, type Schema, valuesOf } from './values.ts';

/** An operation of openapi.yaml. */
export interface Operation {
  method: string;
  path: string;
  operationId: string;
  parameters: { name: string; in: 'path' | 'query' | 'header'; schema: Schema }[];
  body: Schema | undefined;
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

/** A request to one operation. */
export interface FuzzRequest {
  operationId: string;
  method: string;
  /** As sent, escaped or not. */
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
}

/** The operations of a document. */
export function operationsOf(spec: {
  paths: Record<string, Record<string, Record<string, unknown>>>;
}): Operation[] {
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

/** Requests to one operation. */
export function requestsOf(
  operation: Operation,
  making: Making,
  credentials: string[],
): fc.Arbitrary<FuzzRequest> {
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
