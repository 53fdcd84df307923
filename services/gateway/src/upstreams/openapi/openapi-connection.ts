/**
 * An HTTP API with an OpenAPI document, as an upstream: its operations are tools.
 *
 *   convert-document.ts  reads a document in a process of its own
 *   convert-process.ts  the main file of that process
 *   operations.ts       the operations of a document, as tools
 *   flatten-schema.ts   schemas without references
 *   schema-values.ts    which of their values can be used
 *   check-input.ts      checks the input of an operation
 *   send-operation.ts   the request of an operation, and its response as a result
 */
import { readFile } from 'node:fs/promises';
import { AppError } from '@harness/contracts';
import { inputError } from '@harness/plugin-kit';
import type { AuthProvider, FetchLike } from '@modelcontextprotocol/client';
import { createBoundedFetch } from '../connection/bounded-fetch.ts';
import { createClientCredentials } from '../connection/client-credentials.ts';
import type { ConnectDeps, Connection } from '../connection/connect.ts';
import type { RawResult } from '../connection/request.ts';
import type { OpenApiUpstream } from '../file/upstream-config.ts';
import { createInputChecks } from './check-input.ts';
import { type ConvertedDocument, convertDocument } from './convert-document.ts';
import type { Operation } from './operations.ts';
import { sendOperation } from './send-operation.ts';

/** Largest document, characters. */
const maxDocumentBytes = 20 * 1024 * 1024;
const isUrl = (place: string) => /^https?:\/\//.test(place);

/**
 * Reads the document and connects to nothing. Rejects when it cannot be read within `timeoutMs`, is no OpenAPI 3, or has no usable
 * address.
 */
export async function openApiConnection(
  upstream: OpenApiUpstream,
  deps: Pick<ConnectDeps, 'timeoutMs' | 'signal' | 'onToken'>,
): Promise<Connection> {
  const signal = AbortSignal.any([deps.signal, AbortSignal.timeout(deps.timeoutMs)]);
  const named = [upstream.openapi, upstream.baseUrl, upstream.auth?.issuer, upstream.auth?.tokenUrl];
  const origins = named
    .filter((one) => one !== undefined && isUrl(one))
    .map((one) => new URL(one as string).origin);
  const fetch = createBoundedFetch(new Set(origins));
  const text = await textOf(upstream.openapi, { fetch, signal, headers: upstream.headers });
  const document = await convertDocument({ text, patterns: upstream.operations }, signal);
  const { operations, problems } = document;
  const baseUrl = upstream.baseUrl ?? serverOf(document, upstream.openapi);
  if (!origins.includes(new URL(baseUrl).origin))
    throw new Error(
      `the document names the server ${baseUrl}, which the upstreams file does not: write it as "baseUrl"`,
    );
  const { auth } = upstream;
  const credentials =
    auth && createClientCredentials({ url: baseUrl, auth }, { fetch, onToken: deps.onToken });
  const send = createSender({ upstream, baseUrl, fetch, credentials });
  // Of two with the same name the first one is offered.
  const byName = new Map(operations.toReversed().map((operation) => [operation.name, operation]));

  return {
    era: null,
    protocolVersion: undefined,
    server: { name: document.title ?? upstream.name, version: document.version ?? '0' },
    capabilities: { tools: {} },
    problems,
    instructions: document.description,
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
  const checkOf = createInputChecks();
  const authorized = async () => {
    const token = await credentials?.token();
    return token === undefined ? upstream.headers : { ...upstream.headers, authorization: `Bearer ${token}` };
  };
  return async (operation: Operation, input: Record<string, unknown>, signal: AbortSignal | undefined) => {
    const errors = checkOf(operation.inputSchema)(input);
    if (errors.length > 0) throw inputError('The input', errors);
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

/** The document's first server, relative to the document. */
function serverOf({ server = '/' }: ConvertedDocument, place: string): string {
  if (isUrl(server)) return server;
  if (isUrl(place)) return new URL(server, place).href;
  throw new Error('the document names no server: write its address as "baseUrl"');
}
