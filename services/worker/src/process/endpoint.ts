/**
 * The worker's HTTP endpoint: `/healthz`, `/readyz`, `/metrics`. It needs no key and exposes no tenant's
 * data; keep it on the internal network.
 *
 * This folder:
 *   base.ts             step 1 of the start: logs, health, metrics, Redis
 *   open-sessions.ts    step 2: what starts and holds agent processes
 *   join-fleet.ts       step 4: heartbeat, doorbells, control messages, sweep
 *   worker-trouble.ts   why the worker is not ready (/readyz)
 *   worker-metrics.ts   the metrics (/metrics)
 *   observe-turn.ts     observes a turn for the metrics
 *   figure-book.ts      adds what this worker counts to the totals of the fleet
 *   hold-leash.ts       starts the leash process and reports to it
 *   leash.ts            the leash process: kills the agents of an unresponsive worker
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AppError, readinessOf, type WorkerInfo } from '@harness/contracts';
import { type Logger, listenErrorOf } from '@harness/runtime';
import type { WorkerMetrics } from './worker-metrics.ts';
import type { WorkerTrouble } from './worker-trouble.ts';

/** What the endpoint needs. */
export interface EndpointOptions {
  host: string;
  /** 0 = any free port. */
  port: number;
  logger: Logger;
  /** Why the worker is not ready now; undefined = it is ready. */
  trouble(): WorkerTrouble | undefined;
  /** How sessions with a workspace are enclosed; undefined while the worker starts. */
  sandbox?(): WorkerInfo['sandbox'];
  metrics: Pick<WorkerMetrics, 'contentType' | 'text'>;
}

/** The running endpoint. */
export interface Endpoint {
  /** Its address, with the actual port. */
  url: string;
  close(): Promise<void>;
}

/** Tight limits: the only clients are probes and scrapers. */
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

/**
 * Starts the endpoint; resolves when it listens. Throws ConfigError when it cannot listen on the address or
 * port.
 */
export async function openEndpoint(options: EndpointOptions): Promise<Endpoint> {
  const { host, port, logger } = options;
  const server = createServer(limits, async (request, response) => {
    const reply = await replyTo(request, options).catch((error: unknown) => {
      logger.error({ err: error }, 'request failed');
      return failure(new AppError('internal', ''));
    });
    const { status, contentType, text } = reply;
    // Probes arrive every second, so only failures are logged at info.
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

async function replyTo(
  request: IncomingMessage,
  { trouble, sandbox, metrics }: EndpointOptions,
): Promise<Reply> {
  const { method, url = '/' } = request;
  const [path] = url.split('?', 1);
  if (method !== 'GET' && method !== 'HEAD')
    return failure(new AppError('method_not_allowed', 'Only GET and HEAD are allowed.'));
  switch (path) {
    case '/healthz':
      return json(200, { status: 'ok', sandbox: sandbox?.() });
    case '/readyz': {
      const found = trouble();
      return json(found ? 503 : 200, readinessOf(found));
    }
    case '/metrics':
      return { status: 200, contentType: metrics.contentType, text: await metrics.text() };
    default:
      return failure(new AppError('not_found', 'Unknown path. There are /healthz, /readyz and /metrics.'));
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
