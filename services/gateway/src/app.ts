/**
 * The gateway as a Fastify app: authentication, metrics, and every route.
 *
 * Files of this folder:
 *   main.ts       starts the process: config, Redis, plugins, app, shutdown
 *   config.ts     environment -> typed config
 *   server.ts     the Fastify server without routes: limits, JSON bodies, errors, its end
 *   app-deps.ts   what the app and its routes are created from
 *   follow-file.ts  follows a file that its owner may change
 * Folders:
 *   http/         what every request passes: credentials, Host, Origin, body, errors, disconnects
 *   openapi/      JSON Schemas of the routes; openapi.yaml and /docs
 *   rest/         REST routes, one file per resource
 *   mcp/          the /mcp endpoint: both protocol eras, and the short path for tool calls
 *   console/      the operator's console: its files, signing in
 *   keys/         API keys
 *   oauth/        access tokens of an OAuth issuer
 *   limits/       what tenants and keys may use at most
 *   tools/        tool calls from REST and MCP: rights, audit, ledger, tool lock
 *   files/        files of threads, their garbage
 *   threads/      accepting messages and tasks, following a run to its end
 *   commands/     slash commands
 *   upstreams/    MCP servers and HTTP APIs outside the fleet
 *   content/      skills and agents of this gateway's folders, and their changes
 *   audit/        who did what
 *   metrics/      Prometheus metrics
 */
import fastifySwagger from '@fastify/swagger';
import { noTracing } from '@harness/runtime';
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import type { AppDeps, GatewaySlots, RouteDeps } from './app-deps.ts';
import type { Audit } from './audit/audit.ts';
import { createRequestIds } from './audit/audit-source.ts';
import { createCommands } from './commands/create-commands.ts';
import { addConsoleRoute } from './console/console-route.ts';
import { addConsoleSessionRoutes } from './console/console-session.ts';
import { type Changes, followChanges } from './content/list-changes.ts';
import { followSkillsAndAgents } from './content/skills-and-agents.ts';
import { startCollectingFiles } from './files/collect-files.ts';
import { createThreadFiles } from './files/thread-files.ts';
import { addAdmission } from './http/admission.ts';
import type { Scope } from './http/credentials/scopes.ts';
import { createStreamTickets } from './http/credentials/stream-tickets.ts';
import { createRequestLog } from './http/request-log.ts';
import { followIssuedKeys } from './keys/issued-keys.ts';
import { createSlots } from './limits/slots.ts';
import { createTenantLimits, noLimitsFile, type TenantLimits } from './limits/tenant-limits.ts';
import { addMcpRoute } from './mcp/mcp-route.ts';
import { createGatewayMetrics, type GatewayMetrics } from './metrics/gateway-metrics.ts';
import { addProtectedResourceRoutes } from './oauth/protected-resource.ts';
import { addDocsRoute } from './openapi/docs-route.ts';
import { openApiInfo } from './openapi/openapi-info.ts';
import { addSharedSchemas } from './openapi/schemas.ts';
import { addBusRoutes } from './rest/bus/bus.ts';
import { addFileRoutes } from './rest/files/files.ts';
import { addAgentRoutes } from './rest/operate/agents.ts';
import { addAuditRoute } from './rest/operate/audit.ts';
import { addFigureRoutes } from './rest/operate/figures.ts';
import { addHealthRoutes } from './rest/operate/health.ts';
import { addKeyRoutes } from './rest/operate/keys.ts';
import { addMetricsRoute } from './rest/operate/metrics.ts';
import { addPluginRoutes } from './rest/operate/plugins.ts';
import { addSkillRoutes } from './rest/operate/skills.ts';
import { addToolLockRoute } from './rest/operate/tool-lock.ts';
import { addUpstreamRoutes } from './rest/operate/upstreams.ts';
import { addWorkerRoutes } from './rest/operate/workers.ts';
import { addTaskRoutes } from './rest/tasks/tasks.ts';
import { addCommandRoutes } from './rest/threads/commands.ts';
import { createEventStreams } from './rest/threads/event-stream.ts';
import { addEventRoutes } from './rest/threads/events.ts';
import { addForkRoute } from './rest/threads/fork.ts';
import { addQuestionRoute } from './rest/threads/questions.ts';
import { addRunRoutes } from './rest/threads/runs.ts';
import { addSessionRoutes } from './rest/threads/sessions.ts';
import { addStreamTicketRoute } from './rest/threads/stream-tickets.ts';
import { addThreadRoutes } from './rest/threads/threads.ts';
import { addToolRoutes } from './rest/tools/tools.ts';
import { bodyLimit, openServer } from './server.ts';
import { publishListedTools } from './tools/search/publish-listed-tools.ts';
import { withToolSearch } from './tools/search/with-tool-search.ts';
import { createToolCalls } from './tools/tool-calls.ts';
import { followUpstreams } from './upstreams/follow-upstreams.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scope that the route needs, or the scopes of which it needs one: checked before the body is read. */
    scope?: Scope | readonly Scope[];
    /** The route needs no credential. */
    public?: boolean;
    /** The route also accepts a thread token. */
    sessions?: boolean;
    /** The route is polled by machines: a request that succeeds is logged at `debug` only. */
    probe?: boolean;
    /** The route also accepts a stream ticket. */
    tickets?: boolean;
  }
}

/** Creates the gateway as a Fastify app with every route, not yet listening. */
export async function createApp(given: AppDeps): Promise<FastifyInstance> {
  const { registry = new Registry(), limits = createTenantLimits(() => noLimitsFile) } = given;
  const deps = { ...given, registry, limits, tracing: given.tracing ?? noTracing };
  const newRequestId = createRequestIds(deps.dispatch.replicas.id);
  const app = openServer(deps, newRequestId);
  addSharedSchemas(app);
  const metrics = createGatewayMetrics(registry);
  deps.dispatch.onAckMissing(metrics.ackMissed);
  const credentials = {
    issuedKeys: closedWith(app, await followIssuedKeys(deps)),
    streamTickets: createStreamTickets(deps.dispatch.tickets),
  };
  const admission = addAdmission(app, { ...deps, ...credentials, metrics });
  const logRequest = createRequestLog(deps.logger, metrics);
  app.addHook('onResponse', logRequest.routed);

  const changes = closedWith(app, await followChanges(deps));
  const parts = await openParts(app, { ...deps, ...admission, metrics, changes });
  const { recordChange } = admission;
  const routes: RouteDeps = { ...deps, ...parts, ...credentials, recordChange };
  await app.register(fastifySwagger, openApiInfo);
  await app.register(async (scope) => {
    await addRestRoutes(scope, { ...routes, registry });
    await scope.register(async (mcp) =>
      addMcpRoute(mcp, {
        ...routes,
        ...admission,
        changes,
        tracing: deps.tracing,
        newRequestId,
        bodyLimit,
        onAnswered: logRequest.answered,
      }),
    );
    await addPages(scope, deps);
  });
  return app;
}

/** Opens what the routes serve. Each part is closed with the app. */
async function openParts(
  app: FastifyInstance,
  deps: AppDeps & {
    limits: TenantLimits;
    audit: Audit;
    metrics: GatewayMetrics;
    changes: Changes;
  },
) {
  const { dispatch, metrics, changes, files } = deps;
  const slots = slotsOf(deps.limits);
  const streams = createEventStreams({ slots: slots.streams });
  app.addHook('preClose', async () => {
    streams.close();
    dispatch.bus.endPolls();
  });
  const allTools = createToolCalls({ ...deps, slots: slots.calls, onCalled: metrics.toolCalled });
  const tools = withToolSearch(allTools, { plugins: deps.plugins, mode: deps.toolSearch ?? 'auto' });
  closedWith(app, { close: publishListedTools(deps, changes) });
  const { skills, agents, folders } = closedWith(app, await followSkillsAndAgents(deps, changes));
  const upstreams = closedWith(
    app,
    followUpstreams({ ...deps, ...(deps.upstreams ?? noUpstreams), changes }),
  );
  app.addHook('onListen', async () => upstreams.start());
  if (files)
    closedWith(app, { close: startCollectingFiles({ ...deps, store: files.store }, files.collecting) });
  const offered = { ...deps, upstreams, tools, skills, agents };
  return {
    upstreams,
    tools,
    skills,
    agents,
    folders,
    slots,
    streams,
    commands: createCommands({ ...offered, changes }),
    writes: closedWith(app, dispatch.probeWrites({ onWritten: metrics.redisWritten })),
    threadFiles: createThreadFiles(deps),
  };
}

/** Closes the part when the app closes: the last one opened is the first one closed. */
function closedWith<Part extends { close(): unknown }>(app: FastifyInstance, part: Part): Part {
  app.addHook('onClose', async () => void (await part.close()));
  return part;
}

/** Adds every route under /v1, health and metrics. */
async function addRestRoutes(
  scope: FastifyInstance,
  routes: RouteDeps & { registry: Registry },
): Promise<void> {
  addThreadRoutes(scope, routes);
  addForkRoute(scope, routes);
  addRunRoutes(scope, routes);
  addEventRoutes(scope, routes);
  addStreamTicketRoute(scope, routes);
  await addFileRoutes(scope, routes);
  addTaskRoutes(scope, routes);
  addToolRoutes(scope, routes);
  addPluginRoutes(scope, routes);
  addToolLockRoute(scope, routes);
  addSkillRoutes(scope, routes);
  addUpstreamRoutes(scope, routes);
  addAgentRoutes(scope, routes);
  addCommandRoutes(scope, routes);
  addSessionRoutes(scope, routes);
  addQuestionRoute(scope, routes);
  addWorkerRoutes(scope, routes);
  addBusRoutes(scope, routes);
  addFigureRoutes(scope, routes);
  addMetricsRoute(scope, routes);
  addKeyRoutes(scope, routes);
  addAuditRoute(scope, routes);
  addHealthRoutes(scope, routes);
  addConsoleSessionRoutes(scope, routes);
}

/** Adds what people open: the pages of the documentation and of the console, openapi.yaml, the metadata of OAuth. */
async function addPages(scope: FastifyInstance, deps: AppDeps): Promise<void> {
  addProtectedResourceRoutes(scope, deps.oauth);
  await addDocsRoute(scope);
  await addConsoleRoute(scope, deps.consoleFolder);
  scope.get('/openapi.yaml', { config: { public: true }, schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/yaml; charset=utf-8').send(scope.swagger({ yaml: true })),
  );
}

const noUpstreams = { file: undefined, env: {}, unprefixed: [] };

/** The slots of the whole gateway: what one process serves well. */
const slotsOf = (limits: TenantLimits): GatewaySlots => ({
  calls: createSlots({ limits, name: 'concurrentCalls', most: 5_000 }),
  streams: createSlots({ limits, name: 'streams', most: 5_000, code: 'too_many_streams' }),
  subscriptions: createSlots({ limits, name: 'subscriptions', most: 5_000 }),
});
