import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { requireScope } from '../../http/credentials/authenticate.ts';
import { answers, refTo } from '../../openapi/schemas.ts';

/** Adds GET /v1/audit. */
export function addAuditRoute(app: FastifyInstance, { dispatch }: RouteDeps): void {
  app.get<{ Querystring: { limit: number; cursor?: string } }>(
    '/v1/audit',
    {
      schema: {
        tags: ['audit'],
        operationId: 'listAuditRecords',
        summary: 'Who changed or called what, and who was refused, newest first',
        description:
          'The latest records of the caller’s tenant (scope admin), or of all tenants and of unknown callers (scope fleet). A record appears within two seconds.',
        querystring: {
          type: 'object',
          properties: {
            limit: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
            cursor: { type: 'string', description: 'nextCursor of the previous page' },
          },
          additionalProperties: false,
        },
        response: answers(
          {
            200: {
              description: 'A page of records',
              type: 'object',
              properties: {
                records: { type: 'array', items: refTo('AuditRecord') },
                nextCursor: { type: ['string', 'null'], description: 'Null: there are no older records' },
              },
              required: ['records', 'nextCursor'],
            },
          },
          400,
        ),
      },
    },
    async (request) => {
      const { principal } = request.caller;
      const isFleets = principal.scopes.includes('fleet');
      if (!isFleets) requireScope(request.caller, 'admin');
      return dispatch.audit.read({ ...request.query, tenant: isFleets ? undefined : principal.tenant });
    },
  );
}
