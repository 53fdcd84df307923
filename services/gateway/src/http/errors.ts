/**
 * Errors as HTTP responses.
 *
 * This folder, what every request passes:
 *   admission.ts           the order of what follows
 *   credentials/           who sends it, and with which rights
 *   same-site.ts           Host and Origin checks
 *   cors.ts                CORS headers and preflights for allowed origins
 *   continue.ts            100 Continue, only for requests that may be served
 *   json-body.ts           parses request bodies, for REST and MCP
 *   client-disconnect.ts   detects that a client has disconnected
 *   client-address.ts      the client's address, through trusted proxies
 *   limit-headers.ts       Retry-After and RateLimit headers
 *   keyless-connections.ts bounds connections without a valid credential
 *   request-log.ts         logs and counts requests
 *   trace-requests.ts      the span of a request
 */
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { AppError, type ErrorCode, toAppError } from '@harness/contracts';
import { maxErrors, readableErrors, schemaErrorOf } from '@harness/plugin-kit';
import type { Scrubber } from '@harness/runtime';
import type { ErrorObject } from 'ajv';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { challengeOf } from '../oauth/protected-resource.ts';
import type { OAuthSettings } from '../oauth/settings.ts';
import { retryHeaders } from './limit-headers.ts';

const contentType = 'application/json; charset=utf-8';

/** What error responses depend on. */
export interface ErrorDeps {
  oauth?: OAuthSettings | undefined;
  /** Replaces secrets in messages and details. */
  scrubber: Scrubber;
}

/** Registers the error and not-found handlers: every REST error is `{error: {code, message, details?}}`. */
export function addErrorHandler(app: FastifyInstance, { oauth, scrubber }: ErrorDeps): void {
  const allowedAt = noteRoutes(app);
  const send = (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const error = appErrorOf(thrown);
    request.source.error = error.code;
    const level = error.status >= 500 ? 'error' : 'debug';
    request.log[level]({ err: thrown, code: error.code }, 'request failed');
    const challenge = challengeOf(error, request, oauth);
    if (challenge) reply.header('WWW-Authenticate', challenge);
    reply.headers(retryHeaders(error));
    // Refused before it was authenticated: its body, which may be large, is not read.
    if (!request.caller && !request.routeOptions.config.public) reply.header('Connection', 'close');
    return reply
      .code(error.status)
      .type(contentType)
      .send({ error: scrubber.json(error.toBody()) });
  };
  app.setErrorHandler((thrown: FastifyError, request, reply) => send(thrown, request, reply));
  app.setNotFoundHandler((request, reply) => {
    const { method, url } = request;
    const [path = ''] = url.split('?');
    const allowed = allowedAt(path);
    if (allowed.length === 0)
      return send(new AppError('not_found', `There is no ${method} ${path}.`), request, reply);
    reply.header('Allow', allowed.join(', '));
    const message = `There is no ${method} ${path}; there is ${allowed.join(', ')}.`;
    return send(new AppError('method_not_allowed', message), request, reply);
  });
}

/** Creates the handler of requests that Fastify refuses before routing. */
export const createUnroutedHandler =
  (scrubber: Scrubber) =>
  (error: FastifyError, _request: FastifyRequest, reply: FastifyReply): void => {
    const { status, body } = answerOf(appErrorOf(error));
    reply.raw.statusCode = status;
    reply.raw.setHeader('Content-Type', contentType).end(scrubber.line(body));
  };

/** Connections with input that was refused: Node reports each further part of it, too. */
const refusedSockets = new WeakSet<Socket>();

/**
 * Responds to input that Node's HTTP parser refuses, once the requests before it have their responses, and closes the
 * connection.
 */
export function refuseUnread(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET') return void socket.destroy();
  if (refusedSockets.has(socket)) return;
  refusedSockets.add(socket);
  const refuse = (): void => {
    const response = responseIn(socket);
    if (response?.req.complete) return void response.once('close', refuse);
    // A response has begun that this one would be part of.
    if (!socket.writable || response?.headersSent) return void socket.destroy();
    socket.end(bytesOf(nodeErrorOf(error.code)));
  };
  refuse();
}

/** The response in progress on a connection; Node names it in no other way. */
const responseIn = (socket: Socket) =>
  (socket as { _httpMessage?: ServerResponse<IncomingMessage> | null })._httpMessage ?? undefined;

/** Refuses what Node would refuse without a body: CONNECT, and an `Expect` other than `100-continue`. */
export function refuseUnserved(server: Server): void {
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    // Node no longer listens to this socket: without a listener, a reset by the client would end the process.
    socket.on('error', () => socket.destroy());
    const error = new AppError('method_not_allowed', 'There is no CONNECT: this server is not a proxy.');
    socket.write(bytesOf(error, 'Allow:'));
    socket.destroySoon();
  });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const message = 'The header Expect may only be 100-continue.';
    const { status, body } = answerOf(new AppError('invalid_request', message));
    response.statusCode = status;
    response.setHeader('Content-Type', contentType).setHeader('Connection', 'close').end(body);
  });
}

/** The whole HTTP response, for a socket. */
function bytesOf(error: AppError, ...headers: string[]): string {
  const { status, body } = answerOf(error);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Content-Type: ${contentType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    ...headers,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

const answerOf = (error: AppError) => ({
  status: error.status,
  body: JSON.stringify({ error: error.toBody() }),
});

function nodeErrorOf(code: string | undefined): AppError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new AppError(
        'headers_too_large',
        'The headers, or the URL, are too large. Send fewer or shorter ones.',
      );
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new AppError(
        'body_too_large',
        'The chunk extensions of the body are too large. Send the body without them.',
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new AppError('request_timeout', 'The request did not arrive completely in time. Send it again.');
    default:
      return new AppError('invalid_request', 'This is not a valid HTTP request.');
  }
}

/** Records the routes that are registered from now on; returns a lookup of the methods of a path. */
function noteRoutes(app: FastifyInstance): (path: string) => string[] {
  const routes: { parts: string[]; methods: string[] }[] = [];
  app.addHook('onRoute', ({ path, method }) => {
    routes.push({ parts: path.split('/'), methods: [method].flat() });
  });
  return (path) => {
    const asked = path.split('/');
    const fits = ({ parts }: { parts: string[] }) =>
      parts.length === asked.length && parts.every((part, i) => part === asked[i] || part.startsWith(':'));
    return [...new Set(routes.filter(fits).flatMap(({ methods }) => methods))];
  };
}

const fastifyCodes: Record<string, ErrorCode> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_MAX_PARAM_LENGTH: 'url_too_long',
};

/**
 * Converts anything thrown into an AppError: validation errors of Fastify with one entry in `details` per
 * problem, its other client errors by code, the rest through `toAppError`.
 */
export function appErrorOf(thrown: unknown): AppError {
  const fastify = thrown as Partial<FastifyError>;
  if (fastify.validation) {
    const root = fastify.validationContext ?? '';
    // The path begins with `headers`, `body`, … to distinguish a header from a field of the body.
    const errors = fastify.validation.slice(0, maxErrors + 1).map((error) => {
      const found = schemaErrorOf(error as ErrorObject);
      return { ...found, instancePath: `${root}${found.instancePath}` };
    });
    const details = errors.map(({ instancePath, message, given, params }) => ({
      path: instancePath,
      message,
      ...(given === undefined ? {} : { given }),
      ...params,
    }));
    const message = `The request is not valid:\n${readableErrors(errors)}`;
    return new AppError('invalid_request', message, { details: details.slice(0, maxErrors) });
  }
  if (thrown instanceof AppError) return thrown;
  // Fastify's own refusals (bad JSON, wrong media type, too large) are client errors.
  if (typeof fastify.statusCode === 'number' && fastify.statusCode < 500) {
    return new AppError(
      fastifyCodes[fastify.code ?? ''] ?? 'invalid_request',
      fastify.message ?? 'The request is not valid.',
    );
  }
  return toAppError(thrown);
}
