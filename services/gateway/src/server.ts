import type { Socket } from 'node:net';
import { maxBusBytes } from '@harness/contracts';
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify';
import type { AppDeps } from './app-deps.ts';
import { addErrorHandler, createUnroutedHandler, refuseUnread, refuseUnserved } from './http/errors.ts';
import { readJson, requireUtf8 } from './http/json-body.ts';
import { createValidators } from './openapi/schemas.ts';

/** Largest request body, bytes: the largest bus payload and its JSON envelope. */
export const bodyLimit = maxBusBytes + 16 * 1024;

/** Opens the HTTP server without any route: its limits, JSON bodies, errors, and how its connections end. */
export function openServer(deps: AppDeps, newRequestId: () => string): FastifyInstance {
  const app: FastifyInstance = fastify({
    genReqId: newRequestId,
    loggerInstance: deps.logger as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit,
    requestTimeout: 30_000,
    // A request without Host is refused by the site check, because Node refuses it without a body.
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 5_000, requireHostHeader: false },
    connectionTimeout: 0, // SSE and long tool calls stay open; their own limits apply
    keepAliveTimeout: 72_000,
    // At shutdown, requests in progress complete; `streams.close()` ends streams and waits.
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: 200 },
    frameworkErrors: createUnroutedHandler(deps.scrubber),
    clientErrorHandler: refuseUnread,
  });
  app.setValidatorCompiler(createValidators());
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  // JSON bodies only: a browser cannot send JSON to another origin without a preflight.
  app.removeContentTypeParser(['application/json', 'text/plain']);
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'string' },
    async ({ headers }: FastifyRequest, text: string) => {
      requireUtf8(headers['content-type']);
      return readJson(text);
    },
  );
  if (deps.onRoute) app.addHook('onRoute', deps.onRoute);
  addErrorHandler(app, deps);
  refuseUnserved(app.server);
  endConnectionsOnClose(app);
  return app;
}

/**
 * At shutdown, connections that become idle would keep the server from closing. So would connections that were
 * opened in advance and never used (browsers and connection pools): Node does not count them as idle.
 */
function endConnectionsOnClose(app: FastifyInstance): void {
  const sockets = new Set<Socket>();
  app.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  app.addHook('preClose', async () => {
    const timer = setInterval(() => {
      app.server.closeIdleConnections();
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    }, 100);
    app.server.once('close', () => clearInterval(timer));
  });
}
