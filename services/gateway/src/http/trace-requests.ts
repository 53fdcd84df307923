import type { OpenSpan, Tracing } from '@harness/runtime';
import type { FastifyInstance, FastifyRequest } from 'fastify';

const traceparentPattern = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
/** Returns a valid W3C traceparent as sent by a caller; undefined for anything else. */
export const traceparentOf = (sent: unknown): string | undefined =>
  typeof sent === 'string' && traceparentPattern.test(sent) ? sent : undefined;

/**
 * Records a span for every REST request, except those of machines that poll. A `traceparent` header names its parent. Does
 * nothing while traces are off. (Tool calls over MCP have spans of their own.)
 */
export function traceRequests(app: FastifyInstance, tracing: Tracing): void {
  if (!tracing.isOn) return;
  const spans = new WeakMap<FastifyRequest, OpenSpan>();
  app.addHook('onRequest', (request, _reply, done) => {
    const { method, routeOptions } = request;
    const { url: route, config } = routeOptions;
    if (route === undefined || config.probe || route === '/mcp') return done();
    const span = tracing.start({
      name: `${method} ${route}`,
      kind: 'SERVER',
      parent: traceparentOf(request.headers.traceparent) ?? '',
      attributes: { 'http.request.method': method, 'http.route': route },
    });
    if (span.traceparent !== undefined) spans.set(request, span);
    span.within(done);
  });
  app.addHook('onResponse', (request, reply, done) => {
    const span = spans.get(request);
    if (!span) return done();
    const { threadId, runId, taskId } = request.params as Record<string, string | undefined>;
    span.set({
      'http.response.status_code': reply.statusCode,
      ...(threadId && { 'gen_ai.conversation.id': threadId }),
      ...(runId && { 'harness.run.id': runId }),
      ...(taskId && { 'harness.task.id': taskId }),
    });
    if (reply.statusCode >= 500) span.fail(String(reply.statusCode));
    span.end();
    done();
  });
}
