/**
 * An HTTP API with an OpenAPI document, as an upstream: its operations are tools.
 *
 *   operations.ts       the operations of a document, as tools
 *   flatten-schema.ts   schemas without references
 *   send-operation.ts   the request of an operation, and its response as a result
 */
import { readFile } from 'node:fs/promises';
import { AppError } from '@harness/contracts';
import { createSchemaCompiler, readableErrors, type SchemaCheck } from '@harness/plugin-kit';
import type { AuthProvider, FetchLike } from '@modelcontextprotocol/client';
import { upgrade } from '@scalar/openapi-upgrader';
import { parse as parseYaml } from 'yaml';
import { createBoundedFetch } from '../connection/bounded-fetch.ts';
import { createClientCredentials } from '../connection/client-credentials.ts';
import type { ConnectDeps, Connection } from '../connection/connect.ts';
import type { RawResult } from '../connection/request.ts';
import type { OpenApiUpstream } from '../file/upstream-config.ts';
import { type FlatSchema, isObject } from './flatten-schema.ts';
import { type Operation, operationsOf } from './operations.ts';
import { sendOperation } from './send-operation.ts';

/** Largest document, bytes. */
const maxDocumentBytes = 20 * 1024 * 1024;
const isUrl = (place: string) => /^https?:\/\//.test(place);

/**
 * Reads the document and connects to nothing. Rejects when it cannot be read within `timeoutMs`, is no OpenAPI 3, or has no usable
 * address.
 */
export async function openApiConnection(
  upstream: OpenApiUpstream,
  deps: Pick<ConnectDeps, 'timeoutMs' | 'signal'>,
): Promise<Connection> {
  const signal = AbortSignal.any([deps.signal, AbortSignal.timeout(deps.timeoutMs)]);
  const named = [upstream.openapi, upstream.baseUrl, upstream.auth?.issuer, upstream.auth?.tokenUrl];
  const origins = named
    .filter((one) => one !== undefined && isUrl(one))
    .map((one) => new URL(one as string).origin);
  const fetch = createBoundedFetch(new Set(origins));
  const document = documentOf(await textOf(upstream.openapi, { fetch, signal, headers: upstream.headers }));
  const baseUrl = upstream.baseUrl ?? serverOf(document, upstream.openapi);
  if (!origins.includes(new URL(baseUrl).origin))
    throw new Error(
      `the document names the server ${baseUrl}, which the upstreams file does not: write it as "baseUrl"`,
    );
  const problems = new Set<string>();
  const operations = operationsOf(document, upstream.operations, (problem) => problems.add(problem));
  const { auth } = upstream;
  const credentials = auth && createClientCredentials({ url: baseUrl, auth }, fetch);
  const send = createSender({ upstream, baseUrl, fetch, credentials });
  // Of two with the same name the first one is offered.
  const byName = new Map(operations.toReversed().map((operation) => [operation.name, operation]));
  const { title, version, description } = (isObject(document.info) ? document.info : {}) as Record<
    string,
    unknown
  >;

  return {
    era: null,
    protocolVersion: undefined,
    server: { name: String(title ?? upstream.name), version: String(version ?? '0') },
    capabilities: { tools: {} },
    problems: [...problems],
    instructions: typeof description === 'string' ? description.slice(0, 2_000) : undefined,
    async request(method, params, options): Promise<RawResult> {
      if (method === 'tools/list') return { tools: operations.map(toolOf) };
      const operation = method === 'tools/call' ? byName.get(String(params.name)) : undefined;
      if (!operation) throw new AppError('tool_not_found', `There is no operation ${String(params.name)}.`);
      return send(operation, (params.arguments ?? {}) as Record<string, unknown>, options.signal);
    },
    subscribe: async () => undefined,
    close: async () => undefined,
  };
}

/** Checks the input, sends the request, and once more with another token when it is refused. */
function createSender(deps: {
  upstream: OpenApiUpstream;
  baseUrl: string;
  fetch: FetchLike;
  credentials: AuthProvider | undefined;
}) {
  const { upstream, baseUrl, fetch, credentials } = deps;
  const compiler = createSchemaCompiler();
  const checks = new Map<Operation, SchemaCheck>();
  const checkOf = (operation: Operation): SchemaCheck => {
    const check = checks.get(operation) ?? compiled(operation.inputSchema);
    checks.set(operation, check);
    return check;
  };
  const compiled = (schema: FlatSchema): SchemaCheck => {
    try {
      return compiler.compile(schema);
    } catch {
      return () => []; // a schema that is wrong: the API decides
    }
  };
  const authorized = async () => {
    const token = await credentials?.token();
    return token === undefined ? upstream.headers : { ...upstream.headers, authorization: `Bearer ${token}` };
  };
  return async (operation: Operation, input: Record<string, unknown>, signal: AbortSignal | undefined) => {
    const errors = checkOf(operation)(input);
    if (errors.length > 0)
      throw new AppError('invalid_tool_input', `The input is not valid:\n${readableErrors(errors)}`, {
        details: errors,
      });
    const once = async () =>
      sendOperation({ operation, input, baseUrl, headers: await authorized(), signal }, fetch);
    const result = await once();
    const isRefused = result.isError === true && JSON.stringify(result.content).includes('"401 ');
    if (!credentials?.onUnauthorized || !isRefused) return result;
    await credentials.onUnauthorized({} as never);
    return once();
  };
}

function toolOf({ name, title, description, inputSchema, method }: Operation): RawResult {
  return {
    name,
    ...(title && { title }),
    description,
    inputSchema,
    annotations: {
      readOnlyHint: method === 'GET' || method === 'HEAD',
      ...(method === 'DELETE' && { destructiveHint: true }),
      ...((method === 'PUT' || method === 'DELETE') && { idempotentHint: true }),
    },
  };
}

async function textOf(
  place: string,
  { fetch, signal, headers }: { fetch: FetchLike; signal: AbortSignal; headers: Record<string, string> },
): Promise<string> {
  if (!isUrl(place)) {
    const text = await readFile(place, 'utf8');
    if (text.length > maxDocumentBytes)
      throw new Error(`the document has more than ${maxDocumentBytes} bytes`);
    return text;
  }
  const response = await fetch(place, { signal, headers });
  if (!response.ok) throw new Error(`the document was not read: ${response.status} ${response.statusText}`);
  return response.text();
}

/** OpenAPI 3.0 becomes 3.1, whose schemas are JSON Schema. YAML aliases are bounded: they can make a small text endless. */
function documentOf(text: string): Record<string, unknown> {
  const parsed: unknown = text.trimStart().startsWith('{')
    ? JSON.parse(text)
    : parseYaml(text, { maxAliasCount: 10_000 });
  if (!isObject(parsed) || !/^3\.[01]/.test(String(parsed.openapi)))
    throw new Error('it is no document of OpenAPI 3.0 or 3.1');
  return upgrade(parsed, '3.1') as Record<string, unknown>;
}

/** The document's first server, relative to the document. */
function serverOf({ servers }: Record<string, unknown>, place: string): string {
  const first = Array.isArray(servers) ? (servers[0] as { url?: unknown } | undefined)?.url : undefined;
  const url = typeof first === 'string' ? first : '/';
  if (isUrl(url)) return url;
  if (isUrl(place)) return new URL(url, place).href;
  throw new Error('the document names no server: write its address as "baseUrl"');
}
