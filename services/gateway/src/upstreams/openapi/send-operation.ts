import { AppError, isObject } from '@harness/contracts';
import type { FetchLike } from '@modelcontextprotocol/client';
import type { RawResult } from '../connection/request.ts';
import type { Operation } from './operations.ts';

/** One request of an operation. */
export interface OperationRequest {
  operation: Operation;
  input: Record<string, unknown>;
  baseUrl: string;
  headers: Record<string, string>;
  signal: AbortSignal | undefined;
}

/** What a value in the request must not have: it could end a line, and begin another one. */
const isUnsafe = (text: string) => /[\r\n\0]/.test(text);
/** What a header can have: Latin-1 without control characters. */
const isHeaderText = (text: string) => /^[\t\x20-\x7e\xa0-\xff]*$/.test(text);
/** Text of an error response that is passed on, characters. */
const maxErrorChars = 4_000;

/** Sends an operation. A response of 400 or above is a tool's failure; no response at all rejects. Throws `invalid_tool_input`. */
export async function sendOperation(request: OperationRequest, fetch: FetchLike): Promise<RawResult> {
  const { url, ...init } = encoded(request);
  return resultOf(await fetch(url, { ...init, ...(request.signal && { signal: request.signal }) }));
}

/** The request as it is sent. What cannot be encoded is an error of the caller, of which the upstream knows nothing. */
function encoded(request: OperationRequest) {
  try {
    const { method } = request.operation;
    return { url: urlOf(request), method, headers: headersOf(request), ...bodyOf(request) };
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw refuse(`The input cannot be sent: ${(error as Error).message}`);
  }
}

/** The value of an input: one called `toString` is absent unless it is given. */
const givenOf = (input: Record<string, unknown>, key: string | undefined): unknown =>
  key !== undefined && Object.hasOwn(input, key) ? input[key] : undefined;

const refuse = (problem: string) => new AppError('invalid_tool_input', problem);

function textOf(value: unknown, key: string): string {
  const text = isObject(value) || Array.isArray(value) ? JSON.stringify(value) : String(value);
  if (isUnsafe(text)) throw refuse(`"${key}" must not have line breaks.`);
  return text;
}

function urlOf({ operation, input, baseUrl }: OperationRequest): URL {
  const path = operation.places
    .filter((place) => place.in === 'path')
    .reduce((rest, { key, name }) => {
      const value = givenOf(input, key);
      const text = Array.isArray(value) ? value.map(String).join(',') : textOf(value ?? '', key);
      // A URL takes such a part away, and the one before it.
      if (text === '' || text === '.' || text === '..' || isUnsafe(text))
        throw refuse(`"${key}" must be a part of a path.`);
      return rest.replaceAll(`{${name}}`, () => encodeURIComponent(text));
    }, operation.path);
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}${path}`);
  for (const { key, name, style, isJoined } of operation.places.filter((place) => place.in === 'query')) {
    const value = givenOf(input, key);
    if (value === undefined) continue;
    if (Array.isArray(value)) {
      const texts = value.map((one) => textOf(one, key));
      for (const text of isJoined ? [texts.join(',')] : texts) url.searchParams.append(name, text);
    } else if (isObject(value)) {
      for (const [field, inner] of Object.entries(value))
        url.searchParams.append(style === 'deepObject' ? `${name}[${field}]` : field, textOf(inner, key));
    } else url.searchParams.append(name, textOf(value, key));
  }
  return url;
}

function headersOf({ operation, input, headers }: OperationRequest): Headers {
  const all = new Headers({ accept: 'application/json, */*;q=0.5' });
  for (const { key, name } of operation.places.filter((place) => place.in === 'header')) {
    const value = givenOf(input, key);
    if (value === undefined) continue;
    const text = textOf(value, key);
    if (!isHeaderText(text)) throw refuse(`"${key}" has characters that no header can have.`);
    all.set(name, text);
  }
  if (operation.body && hasBody({ operation, input })) all.set('content-type', operation.body.type);
  // What the operator has written wins over what a model asks for.
  for (const [name, value] of Object.entries(headers)) all.set(name, value);
  return all;
}

const inBody = ({ operation, input }: Pick<OperationRequest, 'operation' | 'input'>) =>
  operation.places.filter((place) => place.in === 'body' && givenOf(input, place.key) !== undefined);
const hasBody = (request: Pick<OperationRequest, 'operation' | 'input'>) =>
  request.operation.body?.shape === 'fields' || inBody(request).length > 0;

function bodyOf(request: OperationRequest): { body?: string } {
  const { operation, input } = request;
  if (!operation.body || !hasBody(request)) return {};
  const given = inBody(request);
  const value =
    operation.body.shape === 'whole'
      ? givenOf(input, given[0]?.key)
      : Object.fromEntries(given.map(({ key, name }) => [name, givenOf(input, key)]));
  if (operation.body.type.includes('json')) return { body: JSON.stringify(value) };
  const fields = Object.entries(isObject(value) ? value : {}).map(([name, one]): [string, string] => [
    name,
    typeof one === 'string' ? one : JSON.stringify(one),
  ]);
  return { body: new URLSearchParams(fields).toString() };
}

/** A JSON object is the structured content as it is; another JSON value is its field `result`. */
async function resultOf(response: Response): Promise<RawResult> {
  const { status, statusText } = response;
  const type = response.headers.get('content-type') ?? '';
  const isText = type === '' || /^text\/|json|xml|yaml|javascript|x-www-form/.test(type);
  if (!isText) {
    const data = Buffer.from(await response.arrayBuffer()).toString('base64');
    const mimeType = type.split(';', 1)[0] as string;
    const kind = /^(image|audio)\//.exec(mimeType)?.[1];
    const resource = { uri: response.url || 'data:', mimeType, blob: data };
    return {
      content: [kind ? { type: kind, data, mimeType } : { type: 'resource', resource }],
      isError: !response.ok,
    };
  }
  const text = await response.text();
  if (!response.ok) {
    const message = `${status} ${statusText}${text ? `: ${text.slice(0, maxErrorChars)}` : ''}`;
    return { content: [{ type: 'text', text: message }], isError: true };
  }
  const parsed = type.includes('json') ? parsedOf(text) : undefined;
  if (parsed === undefined)
    return { content: [{ type: 'text', text: text || `${status} ${statusText || 'OK'}` }], isError: false };
  const structuredContent = isObject(parsed.value) ? parsed.value : { result: parsed.value };
  return { content: [{ type: 'text', text }], structuredContent, isError: false };
}

function parsedOf(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
