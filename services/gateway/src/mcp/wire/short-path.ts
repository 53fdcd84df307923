/**
 * The short path of tools/call and tools/list, below Fastify and the SDKs. It reads POSTs to /mcp that have a
 * JSON body of known size and no Origin, and serves those from an allowed host with a valid credential and
 * one well-formed request. It passes all others to Fastify together with the body that it has read.
 */
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Authenticate, type Caller, requireToolAccess } from '../../http/authenticate.ts';
import { readJson } from '../../http/json-body.ts';
import type { ToolCalls } from '../../tools/tool-calls.ts';
import { type LegacyEra, sessionHeader, speaksLegacy } from '../legacy/legacy-era.ts';
import type { ModernCall } from '../modern/modern-call.ts';
import type { ModernEra } from '../modern/modern-era.ts';
import { classify, type McpPost } from './classify.ts';
import type { Incoming } from './json-rpc.ts';

/** What the short path needs. */
export interface ShortPathDeps {
  authenticate: Authenticate;
  checkSite(headers: IncomingMessage['headers']): void;
  tools: ToolCalls;
  legacy: LegacyEra;
  modern: ModernEra;
  /** Largest body, bytes. */
  bodyLimit: number;
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

/** Creates the short path. */
export function createShortPath(deps: ShortPathDeps): ShortPath {
  const { tools, legacy, modern, bodyLimit } = deps;
  const bodies = new WeakMap<IncomingMessage, Buffer>();
  /** The last verified credential of each connection, reused until `goodUntil`. */
  const lastCallers = new WeakMap<Socket, { authorization: string | undefined; caller: Caller }>();
  let closed = false;

  const callerOf = async ({ headers: { authorization }, socket }: IncomingMessage): Promise<Caller> => {
    const last = lastCallers.get(socket);
    if (last && last.authorization === authorization && isGood(last.caller)) return last.caller;
    const caller = await deps.authenticate(authorization, { sessions: true });
    requireToolAccess(caller);
    lastCallers.set(socket, { authorization, caller });
    return caller;
  };

  /** Returns false, or throws, when Fastify must handle the request. */
  const serve = async (
    request: IncomingMessage,
    response: ServerResponse,
    body: Buffer,
  ): Promise<boolean> => {
    const { headers } = request;
    const post = classify(headers, readJson(body.toString('utf8')));
    if (!isToolRequest(post, headers)) return false;
    deps.checkSite(headers);
    const known = await callerOf(request);
    const caller = known.session ? await tools.present(known) : known;
    if (post.era === 'modern') void modern.serve({ headers, response, caller }, post.call);
    else {
      const session = await legacy.sessionOf(headers, caller);
      void legacy.serve({ headers, response, caller, session }, post.incoming);
    }
    return true;
  };

  const take = (request: IncomingMessage, response: ServerResponse, goOn: () => void) => {
    const chunks: Buffer[] = [];
    const begunAt = performance.now();
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.once('end', () => {
      const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
      const handOn = () => {
        bodies.set(request, body);
        goOn();
      };
      serve(request, response, body).then((served) => {
        if (!served) return handOn();
        response.once('close', () =>
          deps.onAnswered(response.statusCode, (performance.now() - begunAt) / 1000),
        );
      }, handOn);
    });
  };

  return {
    takeOver(server) {
      const [fastify] = server.listeners('request') as ((...args: unknown[]) => void)[];
      server.removeAllListeners('request');
      server.on('request', (request: IncomingMessage, response: ServerResponse) => {
        const goOn = () => fastify?.call(server, request, response);
        if (closed || !isForUs(request, bodyLimit)) goOn();
        else take(request, response, goOn);
      });
    },
    close() {
      closed = true;
    },
    bodyOf: (request) => bodies.get(request),
  };
}

const isGood = ({ goodUntil = 0 }: Caller) => Date.now() < goodUntil;

const isJson = /^application\/json *(;|$)/i;

/** Decides by request line and headers alone. Fastify limits bodies of unknown or excessive size. */
function isForUs({ method, url, headers }: IncomingMessage, bodyLimit: number): boolean {
  return (
    method === 'POST' &&
    url === '/mcp' &&
    headers.origin === undefined &&
    isJson.test(headers['content-type'] ?? '') &&
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
