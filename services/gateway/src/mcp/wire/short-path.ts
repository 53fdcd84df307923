/**
 * The short path of tools/call and tools/list, below Fastify and the SDKs. It reads POSTs to /mcp that have a
 * JSON body of known size and no Origin, and serves those from an allowed host with a valid credential and
 * one well-formed request. It passes all others to Fastify together with the body that it has read.
 *
 * This folder:
 *   classify.ts        era and message of a POST to /mcp
 *   json-rpc.ts        messages of JSON-RPC 2.0
 *   mcp-response.ts    the HTTP response to one MCP request
 *   batched-writes.ts  sends the responses of one turn together
 *   patience.ts        how long responses wait for their result
 *   server-identity.ts name, version and capabilities
 */
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Tracing } from '@harness/runtime';
import { auditSource } from '../../audit/audit-source.ts';
import type { AddressOf } from '../../http/client-address.ts';
import { onDisconnect } from '../../http/client-disconnect.ts';
import { continueBody } from '../../http/continue.ts';
import type { Admit, Admitted } from '../../http/credentials/admit.ts';
import { type Caller, requireToolAccess } from '../../http/credentials/authenticate.ts';
import { isUtf8, readJson } from '../../http/json-body.ts';
import { traceparentOf } from '../../http/trace-requests.ts';
import type { ToolCalls } from '../../tools/tool-calls.ts';
import { type LegacyEra, sessionHeader, speaksLegacy } from '../legacy/legacy-era.ts';
import type { ModernCall } from '../modern/modern-call.ts';
import type { ModernEra } from '../modern/modern-era.ts';
import { classify, type McpPost } from './classify.ts';
import type { Incoming } from './json-rpc.ts';

/** What the short path needs. */
export interface ShortPathDeps {
  admit: Admit;
  checkSite(headers: IncomingHttpHeaders): void;
  tools: ToolCalls;
  legacy: LegacyEra;
  modern: ModernEra;
  tracing: Tracing;
  /** Largest body, bytes. */
  bodyLimit: number;
  addressOf: AddressOf;
  newRequestId(): string;
  /** Called after every response of the short path. */
  onAnswered(status: number, seconds: number): void;
}

/** The short path of one gateway. */
export interface ShortPath {
  /** From now on the short path gets every request before Fastify. */
  takeOver(server: Server): void;
  /** From now on every request goes to Fastify, which ends connections while it closes. */
  close(): void;
  /** The body of a request that was passed to Fastify; undefined if the short path has not read it. */
  bodyOf(request: IncomingMessage): Buffer | undefined;
}

/** A request whose credential is valid; `toFastify` passes it on. */
interface Taken {
  known: Caller;
  begunAt: number;
  toFastify: () => void;
}

/** Creates the short path. */
export function createShortPath(deps: ShortPathDeps): ShortPath {
  const { tools, legacy, modern, bodyLimit } = deps;
  const bodies = new WeakMap<IncomingMessage, Buffer>();
  let closed = false;

  const isAllowed = (headers: IncomingHttpHeaders): boolean => {
    try {
      deps.checkSite(headers);
      return true;
    } catch {
      return false;
    }
  };
  /** Returns false, or throws, when Fastify must handle the request. */
  const serve = async (
    request: IncomingMessage,
    response: ServerResponse,
    { body, known }: { body: Buffer; known: Caller },
  ): Promise<boolean> => {
    const { headers } = request;
    const post = classify(headers, readJson(body.toString('utf8')));
    if (!isToolRequest(post, headers)) return false;
    const caller = known.session ? await tools.present(known) : known;
    const source = { address: deps.addressOf(request), requestId: deps.newRequestId() };
    const within = (serving: () => unknown) =>
      void deps.tracing.within(traceparentOf(headers.traceparent), () => auditSource.run(source, serving));
    if (post.era === 'modern') {
      const { call } = post;
      within(() => modern.serve({ headers, response, caller }, call));
    } else {
      const { incoming } = post;
      const session = await legacy.sessionOf(headers, caller);
      within(() => legacy.serve({ headers, response, caller, session }, incoming));
    }
    return true;
  };

  const readAndServe = (request: IncomingMessage, response: ServerResponse, exchange: Taken) => {
    const { known, begunAt, toFastify } = exchange;
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.on('end', () => {
      const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
      const passOn = () => {
        bodies.set(request, body);
        toFastify();
      };
      serve(request, response, { body, known }).then((served) => {
        if (!served) return passOn();
        onDisconnect(response, () =>
          deps.onAnswered(response.statusCode, (performance.now() - begunAt) / 1000),
        );
      }, passOn);
    });
  };
  const take = (request: IncomingMessage, response: ServerResponse, toFastify: () => void) => {
    const begunAt = performance.now();
    const admitted = ({ caller: known }: Admitted) => {
      requireToolAccess(known);
      continueBody(request, response);
      readAndServe(request, response, { known, begunAt, toFastify });
    };
    deps.admit(request, { sessions: true }).then(admitted).catch(toFastify);
  };

  return {
    takeOver(server) {
      const [fastify] = server.listeners('request') as ((...args: unknown[]) => void)[];
      server.removeAllListeners('request');
      server.on('request', (request: IncomingMessage, response: ServerResponse) => {
        const toFastify = () => fastify?.call(server, request, response);
        if (closed || !isCandidate(request, bodyLimit) || !isAllowed(request.headers)) toFastify();
        else take(request, response, toFastify);
      });
    },
    close() {
      closed = true;
    },
    bodyOf: (request) => bodies.get(request),
  };
}

const isJson = /^application\/json *(;|$)/i;

/** Decides by request line and headers alone. Fastify limits bodies of unknown or excessive size. */
function isCandidate({ method, url, headers }: IncomingMessage, bodyLimit: number): boolean {
  return (
    method === 'POST' &&
    url === '/mcp' &&
    headers.origin === undefined &&
    isJson.test(headers['content-type'] ?? '') &&
    isUtf8(headers['content-type']) &&
    headers['content-encoding'] === undefined &&
    Number(headers['content-length']) <= bodyLimit
  );
}

type ToolRequest =
  | { era: 'modern'; call: ModernCall }
  | { era: 'legacy'; incoming: Extract<Incoming, { kind: 'request' }> };

/** Whether the message is a well-formed tools/call or tools/list: modern, or legacy within a session. */
function isToolRequest(post: McpPost, headers: IncomingHttpHeaders): post is ToolRequest {
  if (post.era === 'modern') return post.call !== undefined && isToolMethod(post.call.method);
  const { incoming } = post;
  const isInSession = speaksLegacy(headers) && headers[sessionHeader] !== undefined;
  return isInSession && incoming.kind === 'request' && isToolMethod(incoming.method);
}

const isToolMethod = (method: string) => method === 'tools/call' || method === 'tools/list';
