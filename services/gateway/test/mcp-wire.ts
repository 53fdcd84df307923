/** Hand-written MCP clients of both eras, so that a test decides which gateway gets which message. */
import { createParser } from 'eventsource-parser';

export interface Message {
  id?: string | number;
  method?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read messages of every shape
  params?: any;
  // biome-ignore lint/suspicious/noExplicitAny: tests read messages of every shape
  result?: any;
  // biome-ignore lint/suspicious/noExplicitAny: tests read messages of every shape
  error?: any;
}

export interface Frame {
  /** Event id; empty if there is none. */
  id: string;
  /** Undefined in the frame that has only the first id. */
  message: Message | undefined;
}

/** A stream of messages; a JSON response is a stream of one message. */
export interface Wire {
  status: number;
  headers: Headers;
  /** Undefined at the end of the stream. */
  next(): Promise<Frame | undefined>;
  /** The next message; throws at the end. */
  message(): Promise<Message>;
  /** All messages to the end. */
  rest(): Promise<Message[]>;
  /** Cuts the connection. */
  cut(): void;
}

export async function openWire(url: string, init: RequestInit): Promise<Wire> {
  const leave = new AbortController();
  const signal = init.signal ? AbortSignal.any([leave.signal, init.signal]) : leave.signal;
  const response = await fetch(new URL('/mcp', url), { ...init, signal });
  const frames: Frame[] = [];
  const parser = createParser({
    onEvent: ({ id = '', data }) => frames.push({ id, message: data ? JSON.parse(data) : undefined }),
  });
  const isStream = response.headers.get('content-type')?.includes('event-stream') === true;
  if (!isStream) {
    const text = await response.text();
    if (text) frames.push({ id: '', message: JSON.parse(text) });
  }
  const reader = isStream ? response.body?.pipeThrough(new TextDecoderStream()).getReader() : undefined;
  const next = async () => {
    while (frames.length === 0) {
      const read = await reader?.read();
      if (!read || read.done) return undefined;
      parser.feed(read.value);
    }
    return frames.shift();
  };
  const message = async () => {
    for (;;) {
      const frame = await next();
      if (!frame) throw new Error('The stream has ended.');
      if (frame.message) return frame.message;
    }
  };
  const rest = async () => {
    const messages: Message[] = [];
    for (let frame = await next(); frame; frame = await next())
      if (frame.message) messages.push(frame.message);
    return messages;
  };
  return {
    status: response.status,
    headers: response.headers,
    next,
    message,
    rest,
    cut: () => leave.abort(),
  };
}

type HeaderTexts = Record<string, string>;
const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
/** `params` of a JSON-RPC request. */
export type Params = Record<string, unknown>;
interface Post {
  headers: HeaderTexts;
  body: object;
  signal?: AbortSignal | undefined;
}
const post = (url: string, { headers, body, signal }: Post) =>
  openWire(url, {
    method: 'POST',
    headers: { ...json, ...headers },
    body: JSON.stringify(body),
    signal: signal ?? null,
  });

/** A session of the 2025 era; every method takes the gateway to use. */
export interface OldSession {
  sessionId: string;
  request(url: string, method: string, more?: { params?: object; id?: string | number }): Promise<Wire>;
  call(url: string, name: string, more?: { args?: object; id?: number; _meta?: object }): Promise<Wire>;
  /** A notification or an answer; gives the status. */
  say(url: string, message: object): Promise<number>;
  /** Opens the notification stream, or resumes an interrupted one. */
  listen(url: string, lastEventId?: string): Promise<Wire>;
  end(url: string): Promise<number>;
  /** The same session id, used by another caller. */
  as(headers: HeaderTexts): OldSession;
}

export async function beginSession(
  url: string,
  options: { headers?: HeaderTexts; capabilities?: object; version?: string } = {},
): Promise<OldSession> {
  const { headers = {}, capabilities = {}, version = '2025-11-25' } = options;
  const params = { protocolVersion: version, capabilities, clientInfo: { name: 'wire', version: '1' } };
  const body = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
  const wire = await post(url, { headers, body });
  const sessionId = wire.headers.get('mcp-session-id');
  if (!sessionId) throw new Error(`initialize: ${wire.status}`);
  return oldSession(sessionId, { ...headers, 'mcp-session-id': sessionId, 'mcp-protocol-version': version });
}

function oldSession(sessionId: string, headers: HeaderTexts): OldSession {
  const request: OldSession['request'] = (url, method, { params = {}, id = 1 } = {}) =>
    post(url, { headers, body: { jsonrpc: '2.0', id, method, params } });
  return {
    sessionId,
    request,
    call: (url, name, { args = {}, id = 1, ...more } = {}) =>
      request(url, 'tools/call', { params: { name, arguments: args, ...more }, id }),
    say: async (url, message) => (await post(url, { headers, body: { jsonrpc: '2.0', ...message } })).status,
    listen: (url, lastEventId) =>
      openWire(url, {
        headers: {
          ...headers,
          accept: 'text/event-stream',
          ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
        },
      }),
    end: async (url) => (await openWire(url, { method: 'DELETE', headers })).status,
    as: (others) => oldSession(sessionId, { ...headers, ...others }),
  };
}

const metaKey = (name: string) => `io.modelcontextprotocol/${name}`;

interface ModernCall {
  args?: object;
  _meta?: object;
  inputResponses?: object;
  requestState?: string;
}

/** A client of 2026-07-28. */
export function modernCaller(options: { headers?: HeaderTexts; capabilities?: object } = {}) {
  const { headers = {}, capabilities = {} } = options;
  const request = (
    url: string,
    method: string,
    { params = {}, id = 1, signal }: { params?: Params; id?: number; signal?: AbortSignal } = {},
  ) => {
    const { _meta, ...rest } = params;
    const meta = {
      [metaKey('protocolVersion')]: '2026-07-28',
      [metaKey('clientCapabilities')]: capabilities,
      ...(_meta as object | undefined),
    };
    const name = params.name ?? params.uri ?? params.taskId;
    const own = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name === undefined ? {} : { 'mcp-name': String(name) }),
    };
    const body = { jsonrpc: '2.0', id, method, params: { ...rest, _meta: meta } };
    return post(url, { headers: { ...headers, ...own }, body, signal });
  };
  return {
    request,
    call: (url: string, name: string, { args = {}, ...more }: ModernCall = {}) =>
      request(url, 'tools/call', { params: { name, arguments: args, ...more } }),
  };
}

export const logLevelKey = metaKey('logLevel');
