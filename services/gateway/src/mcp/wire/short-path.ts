/**
 * The short way of tools/call and tools/list, below Fastify and the SDKs. It reads every POST to /mcp and answers those
 * that are ordinary in every way: JSON from an allowed host with no web page behind it, a credential that is good, one
 * request as its era wants it. All others go on to Fastify with the body that was read, which serves or refuses them as
 * if nothing had been.
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

export interface ShortPathDeps {
  authenticate: Authenticate;
  checkSite(headers: IncomingMessage['headers']): void;
  tools: ToolCalls;
  legacy: LegacyEra;
  modern: ModernEra;
  /** Largest body, bytes. */
  bodyLimit: number;
  /** Told of every answer, when it has been given. */
  onAnswered(status: number, seconds: number): void;
}

export interface ShortPath {
  /** From now on it sees requests before Fastify does. */
  takeOver(server: Server): void;
  /** From now on every request goes on: Fastify ends connections while it closes. */
  close(): void;
  /** What was read of a request that went on; undefined when nothing was. */
  bodyOf(request: IncomingMessage): Buffer | undefined;
}

export function createShortPath(deps: ShortPathDeps): ShortPath {
  const { tools, legacy, modern, bodyLimit } = deps;
  const bodies = new WeakMap<IncomingMessage, Buffer>();
  /** The last good credential of a connection: saying it again needs no second look for a while. */
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

  /** False: not for us. Throws what makes it somebody else's to refuse. */
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

/** By its first line and headers alone; a body of unknown or too large a size is Fastify's to bound. */
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

/** Whether it is a well-formed tools/call or tools/list: of 2026, or of 2025 in a session. */
function isToolRequest(post: McpPost, headers: IncomingHttpHeaders): post is ToolRequest {
  if (post.era === 'modern') return post.call !== undefined && isToolMethod(post.call.method);
  const { incoming } = post;
  const isInSession = speaksLegacy(headers) && headers[sessionHeader] !== undefined;
  return isInSession && incoming.kind === 'request' && isToolMethod(incoming.method);
}

const isToolMethod = (method: string) => method === 'tools/call' || method === 'tools/list';
