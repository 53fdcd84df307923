/**
 * What operators and their tools ask of a worker, on a port of its own: `/healthz`, `/readyz`, `/metrics`. It asks for no
 * key and tells nothing of any tenant, so it belongs on the internal network. Siblings: `worker-trouble.ts` is what
 * `/readyz` says, `worker-metrics.ts` what `/metrics` counts.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AppError, readinessOf } from '@harness/contracts';
import { type Logger, listenErrorOf } from '@harness/runtime';
import type { WorkerMetrics } from './worker-metrics.ts';
import type { WorkerTrouble } from './worker-trouble.ts';

export interface EndpointOptions {
  host: string;
  /** 0 = any free one. */
  port: number;
  logger: Logger;
  /** Why the worker is not ready at this moment; undefined = it is. */
  trouble(): WorkerTrouble | undefined;
  metrics: Pick<WorkerMetrics, 'contentType' | 'text'>;
}

export interface Endpoint {
  /** Its address, with the port that it got. */
  url: string;
  close(): Promise<void>;
}

/** Bounds: whoever asks is a machine that asks now and then. */
const maxConnections = 64;
const limits = {
  requestTimeout: 10_000,
  headersTimeout: 5_000,
  keepAliveTimeout: 5_000,
  maxHeaderSize: 8_192,
};

interface Reply {
  status: number;
  contentType: string;
  text: string;
}

const json = (status: number, body: object): Reply => ({
  status,
  contentType: 'application/json; charset=utf-8',
  text: JSON.stringify(body),
});
const failure = (error: AppError): Reply => json(error.status, { error: error.toBody() });

/** Resolves when it listens. Throws ConfigError when the address or the port cannot be had. */
export async function openEndpoint(options: EndpointOptions): Promise<Endpoint> {
  const { host, port, logger } = options;
  const server = createServer(limits, async (request, response) => {
    const reply = await replyTo(request, options).catch((error: unknown) => {
      logger.error({ err: error }, 'request failed');
      return failure(new AppError('internal', ''));
    });
    const { status, contentType, text } = reply;
    // Probes come every second: only what went wrong is worth a line.
    const { method, url: path } = request;
    logger[status < 400 ? 'debug' : 'info']({ method, path: path?.slice(0, 100), status }, 'request');
    if (status === 503) response.setHeader('Retry-After', '1');
    response.writeHead(status, { 'Content-Type': contentType, 'Content-Length': Buffer.byteLength(text) });
    response.end(text);
  });
  server.maxConnections = maxConnections;
  try {
    server.listen({ host, port });
    await once(server, 'listening');
  } catch (error) {
    throw listenErrorOf(error, { host: ['HARNESS_WORKER_HOST', host], port: ['HARNESS_WORKER_PORT', port] });
  }
  return { url: urlOf(server, host), close: () => closed(server) };
}

async function replyTo(request: IncomingMessage, { trouble, metrics }: EndpointOptions): Promise<Reply> {
  const { method, url = '/' } = request;
  const [path] = url.split('?', 1);
  if (method !== 'GET' && method !== 'HEAD')
    return failure(new AppError('method_not_allowed', 'There is GET and HEAD.'));
  switch (path) {
    case '/healthz':
      return json(200, { status: 'ok' });
    case '/readyz': {
      const found = trouble();
      return json(found ? 503 : 200, readinessOf(found));
    }
    case '/metrics':
      return { status: 200, contentType: metrics.contentType, text: await metrics.text() };
    default:
      return failure(new AppError('not_found', 'There are /healthz, /readyz and /metrics.'));
  }
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function closed(server: Server): Promise<void> {
  const end = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  return end;
}
