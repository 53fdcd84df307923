import { AppError } from '@harness/contracts';
import type { Logger } from '@harness/runtime';
import { classifyInboundRequest } from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Caller } from '../auth.ts';
import type { ToolCalls } from '../tool-calls.ts';
import { createLegacyCancels } from './legacy-cancels.ts';
import { serveLegacy } from './legacy-era.ts';
import { createModernEra } from './modern-era.ts';

/**
 * `/mcp`: every era on one endpoint. A request with the 2026 envelope in its `_meta` is modern; the body decides, since
 * some clients send modern headers with old requests.
 */
export function addMcpRoute(
  app: FastifyInstance,
  deps: { tools: ToolCalls; logger: Logger; callerOf(authorization: string | undefined): Promise<Caller> },
): void {
  const { tools } = deps;
  const cancels = createLegacyCancels();
  const modern = createModernEra(tools, deps.logger);
  app.addHook('onClose', modern.close);

  app.post('/mcp', { schema: { hide: true } }, async (request, reply) => {
    const caller = await deps.callerOf(request.headers.authorization);
    await tools.checkSession(caller);
    const { body } = request;
    if (Array.isArray(body)) throw new AppError('invalid_request', 'JSON-RPC batches are not accepted.');
    const protocolVersionHeader = request.headers['mcp-protocol-version'];
    const route = classifyInboundRequest({
      httpMethod: 'POST',
      body,
      ...(typeof protocolVersionHeader === 'string' ? { protocolVersionHeader } : {}),
    });
    reply.hijack();
    if (route.kind === 'legacy') {
      return serveLegacy({ tools, cancels }, caller, { request: request.raw, response: reply.raw, body });
    }
    // The modern handler classifies again, and answers what cannot be classified with the code its specification asks for.
    const auth = { token: '', clientId: caller.principal.keyId, scopes: [], extra: { caller } };
    const incoming = Object.assign(request.raw, { auth }) as Parameters<typeof modern.node>[0];
    await modern.node(incoming, reply.raw, body);
  });

  const refuse = async (_: unknown, reply: FastifyReply) => {
    reply.header('Allow', 'POST');
    throw new AppError(
      'method_not_allowed',
      'Use POST: there is no session, and nothing to stream or to delete.',
    );
  };
  app.get('/mcp', { schema: { hide: true } }, refuse);
  app.delete('/mcp', { schema: { hide: true } }, refuse);
}
