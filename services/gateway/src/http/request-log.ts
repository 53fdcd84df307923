import type { Logger } from '@harness/runtime';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayMetrics } from '../metrics/gateway-metrics.ts';

/** Logs and counts every answered request. */
export interface RequestLog {
  /** The `onResponse` hook of Fastify. */
  routed(request: FastifyRequest, reply: FastifyReply, done: () => void): void;
  /** A POST to /mcp was answered outside of Fastify. */
  answered(status: number, seconds: number): void;
}

/** Creates the log. Routes with `probe` log a request that succeeds at `debug`. */
export function createRequestLog(logger: Logger, metrics: GatewayMetrics): RequestLog {
  return {
    routed(request, reply, done) {
      const { method, routeOptions } = request;
      const seconds = reply.elapsedTime / 1000;
      const { statusCode: status } = reply;
      metrics.answered({ method, route: routeOptions.url ?? 'unknown', status, seconds });
      const level = routeOptions.config.probe && status < 400 ? 'debug' : 'info';
      if (!logger.isLevelEnabled(level)) return done();
      const { threadId, runId, taskId } = request.params as Record<string, string | undefined>;
      const [path] = request.url.split('?');
      const ms = Math.round(reply.elapsedTime);
      request.log[level]({ method, path, status, ms, threadId, runId, taskId }, 'request');
      done();
    },
    answered(status, seconds) {
      metrics.answered({ method: 'POST', route: '/mcp', status, seconds });
      logger.info({ method: 'POST', path: '/mcp', status, ms: Math.round(seconds * 1000) }, 'request');
    },
  };
}
