/** Reads well-formed requests of MCP 2026-07-28; the SDK refuses all others. */
import type { IncomingHttpHeaders } from 'node:http';
import { isObject } from '@harness/contracts';
import type { LogLevel, ToolDescriptor } from '@harness/plugin-kit';
import { logLevels } from '../methods.ts';
import type { Incoming, Params, RequestId } from '../wire/json-rpc.ts';

/** The protocol version of this era. */
export const modernVersion = '2026-07-28';

/** A well-formed request. */
export interface ModernCall {
  id: RequestId;
  method: string;
  params: Params;
  capabilities: Record<string, unknown>;
  logLevel: LogLevel | undefined;
  /** The client's responses to the questions of an earlier round, by key. */
  inputs: Record<string, Record<string, unknown>> | undefined;
  /** The sealed state of that round. */
  requestState: string | undefined;
}

const metaKey = (name: string) => `io.modelcontextprotocol/${name}`;

/** Returns undefined for anything that is not a well-formed request of this era. */
export function readModernCall(headers: IncomingHttpHeaders, incoming: Incoming): ModernCall | undefined {
  if (incoming.kind !== 'request') return undefined;
  const { id, method, params } = incoming;
  const meta = params._meta;
  if (!isObject(meta) || meta[metaKey('protocolVersion')] !== modernVersion) return undefined;
  const capabilities = meta[metaKey('clientCapabilities')];
  const logLevel = meta[metaKey('logLevel')];
  const { inputResponses, requestState } = params;
  const isRight =
    headers['mcp-protocol-version'] === modernVersion &&
    headerText(headers['mcp-method']) === method &&
    isObject(capabilities) &&
    (logLevel === undefined || logLevels.includes(logLevel as LogLevel)) &&
    (requestState === undefined || typeof requestState === 'string') &&
    (inputResponses === undefined ||
      (isObject(inputResponses) && Object.values(inputResponses).every(isObject)));
  if (!isRight) return undefined;
  return {
    id,
    method,
    params,
    capabilities,
    logLevel: logLevel as LogLevel | undefined,
    inputs: inputResponses as ModernCall['inputs'],
    requestState,
  };
}

const sentinel = /^=\?base64\?(.*)\?=$/s;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * A header's value, with `=?base64?…?=` decoded; undefined if the header is absent or its encoding not valid.
 */
export function headerText(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined;
  const value = header.trim();
  const encoded = sentinel.exec(value)?.[1];
  if (encoded === undefined) return value;
  return base64.test(encoded) ? Buffer.from(encoded, 'base64').toString('utf8') : undefined;
}

/**
 * The first header (`x-mcp-header` in the input schema) that is missing or differs from the argument; null =
 * none.
 */
export function disagreeingParam(
  headers: IncomingHttpHeaders,
  tool: ToolDescriptor | undefined,
  input: unknown,
): string | null {
  if (!tool) return null;
  for (const [name, header] of headersOf(tool)) {
    const value = isObject(input) ? input[name] : undefined;
    const sent = headers[`mcp-param-${header.toLowerCase()}`];
    const wanted = value === undefined || value === null ? undefined : String(value);
    if (sent === undefined ? wanted !== undefined : headerText(sent) !== wanted) return header;
  }
  return null;
}

/** The inputs that a tool also wants as headers, and these headers; read once from each tool. */
function headersOf(tool: ToolDescriptor): readonly (readonly [input: string, header: string])[] {
  const known = paramHeaders.get(tool) ?? readHeaders(tool.inputSchema.properties);
  paramHeaders.set(tool, known);
  return known;
}
const paramHeaders = new WeakMap<ToolDescriptor, ReturnType<typeof readHeaders>>();

const readHeaders = (properties: unknown): [string, string][] =>
  Object.entries(isObject(properties) ? properties : {}).flatMap(([name, schema]): [string, string][] => {
    const header = isObject(schema) ? schema['x-mcp-header'] : undefined;
    return typeof header === 'string' ? [[name, header]] : [];
  });
