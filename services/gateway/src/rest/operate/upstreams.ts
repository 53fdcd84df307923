import { AppError, UpdateUpstream, type Upstream } from '@harness/contracts';
import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { answers, jsonSchemaOf, loadedOf, refTo } from '../../openapi/schemas.ts';
import type { UpstreamReport } from '../../upstreams/upstream-report.ts';

const params = { type: 'object', properties: { upstream: { type: 'string' } }, required: ['upstream'] };

/** Adds GET /v1/upstreams, PATCH /v1/upstreams/:upstream and POST /v1/upstreams/:upstream/reconnect. */
export function addUpstreamRoutes(
  app: FastifyInstance,
  { dispatch, plugins, upstreams, scrubber }: RouteDeps,
): void {
  const tags = ['tools'];
  const named = async (name: string): Promise<Upstream> => {
    const found = (await upstreams.list()).find(({ config }) => config.name === name);
    if (!found)
      throw new AppError(
        'plugin_not_found',
        `There is no upstream "${name}". GET /v1/upstreams lists the upstreams.`,
      );
    return shown(found);
  };
  const shown = (report: UpstreamReport): Upstream =>
    scrubber.json(report.scrubber.json(resourceOf(report, plugins.isEnabled(report.config.name))));

  app.get(
    '/v1/upstreams',
    {
      config: { scope: 'fleet' },
      schema: {
        tags,
        operationId: 'listUpstreams',
        summary: 'List other people’s MCP servers that this fleet offers, and what is wrong with their file',
        response: answers({ 200: loadedOf('upstreams', 'Upstream') }),
      },
    },
    async () => {
      const all = await upstreams.list();
      return { upstreams: all.map(shown), diagnostics: scrubber.json(upstreams.diagnostics()) };
    },
  );

  app.patch<{ Params: { upstream: string }; Body: UpdateUpstream }>(
    '/v1/upstreams/:upstream',
    {
      config: { scope: 'fleet' },
      schema: {
        tags,
        operationId: 'updateUpstream',
        summary: 'Connect to an upstream, or disconnect and withdraw it, for all tenants until changed again',
        params,
        body: jsonSchemaOf(UpdateUpstream),
        response: answers({ 200: refTo('Upstream') }, 400, 404),
      },
    },
    async (request) => {
      const { upstream } = request.params;
      const { enabled } = request.body;
      const now = await named(upstream);
      await dispatch.pluginStates.set({ plugin: upstream, enabled, tenant: undefined });
      return { ...now, enabled };
    },
  );

  app.post<{ Params: { upstream: string } }>(
    '/v1/upstreams/:upstream/reconnect',
    {
      config: { scope: 'fleet' },
      schema: {
        tags,
        operationId: 'reconnectUpstream',
        summary: 'Connect to an upstream anew, at every gateway; what it held for threads is lost',
        params,
        response: answers({ 202: refTo('Upstream') }, 404),
      },
    },
    async (request, reply) => {
      const now = await named(request.params.upstream);
      await dispatch.replicas.broadcast({ kind: 'upstream_reconnect', upstream: now.name });
      return reply.code(202).send(now);
    },
  );
}

function resourceOf(report: UpstreamReport, isEnabled: boolean): Upstream {
  const { config, link, description, plugin, problems, lock } = report;
  const { name, kind, scope, tenants = null } = config;
  return {
    name,
    kind,
    scope,
    tenants,
    sandbox: report.sandbox,
    enabled: isEnabled && !config.disabled,
    state: link?.state ?? 'disabled',
    owner: report.owner,
    era: description?.era ?? null,
    protocolVersion: description?.protocolVersion ?? null,
    server: description?.server
      ? { name: description.server.name, version: description.server.version }
      : null,
    instructions: description?.instructions ?? null,
    tools: (plugin?.tools ?? []).map((tool) =>
      plugin?.prefix === false ? tool.name : `${name}__${tool.name}`,
    ),
    resources: plugin?.resources?.length ?? 0,
    prompts: plugin?.prompts?.length ?? 0,
    lastError: link?.lastError ?? null,
    connections: link?.connections ?? 0,
    losses: link?.losses ?? 0,
    calls: link?.calls ?? 0,
    failures: link?.failures ?? 0,
    latencyMs: link?.latencyMs ?? null,
    problems: [...problems],
    lock: lock.map((difference) => ({ ...difference, fields: [...difference.fields] })),
  };
}
