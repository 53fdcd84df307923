/**
 * The gateway as a Fastify app: authentication, metrics, and every route.
 *
 * Files of this folder:
 *   main.ts       starts the process: config, Redis, plugins, app, shutdown
 *   config.ts     environment -> typed config
 *   server.ts     the Fastify server without routes: limits, JSON bodies, errors, its end
 *   app-deps.ts   what the app and its routes are created from
 * Folders:
 *   http/         what every request passes: credentials, Host, Origin, body, errors, disconnects
 *   openapi/      JSON Schemas of the routes; openapi.yaml and /docs
 *   rest/         REST routes, one file per resource
 *   mcp/          the /mcp endpoint: both protocol eras, and the short path for tool calls
 *   console/      the operator's console: its files, signing in
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
import { createRequestIds } from './audit/audit-source.ts';
import { openAudit } from './audit/open-audit.ts';
import { createCommands } from './commands/create-commands.ts';
import { consoleTokenOf } from './console/console-cookie.ts';
import { addConsoleRoute } from './console/console-route.ts';
import { addConsoleSessionRoutes } from './console/console-session.ts';
import { followChanges } from './content/list-changes.ts';
import { followSkillsAndAgents } from './content/skills-and-agents.ts';
import { startCollectingFiles } from './files/collect-files.ts';
import { createThreadFiles } from './files/thread-files.ts';
import { createAddressOf } from './http/client-address.ts';
import { continueBody, holdContinue } from './http/continue.ts';
import { answerPage } from './http/cors.ts';
import { createAdmit } from './http/credentials/admit.ts';
import { type Caller, createAuthenticate, requireScope } from './http/credentials/authenticate.ts';
import type { Scope } from './http/credentials/scopes.ts';
import { createStreamTickets, ticketOf } from './http/credentials/stream-tickets.ts';
import { boundKeyless } from './http/keyless-connections.ts';
import { rateHeaders } from './http/limit-headers.ts';
import { createRequestLog } from './http/request-log.ts';
import { createSiteCheck } from './http/same-site.ts';
import { traceRequests } from './http/trace-requests.ts';
import { followIssuedKeys } from './keys/issued-keys.ts';
import { createFailedAttempts } from './limits/failed-attempts.ts';
import { createRequestRate } from './limits/request-rate.ts';
import { createSlots } from './limits/slots.ts';
import { createTenantLimits, noLimitsFile, type TenantLimits } from './limits/tenant-limits.ts';
import { addMcpRoute } from './mcp/mcp-route.ts';
import { createGatewayMetrics } from './metrics/gateway-metrics.ts';
import { createAccessTokens } from './oauth/access-tokens.ts';
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
export async function createApp(deps: AppDeps): Promise<FastifyInstance> {
  const newRequestId = createRequestIds(deps.dispatch.replicas.id);
  const app = openServer(deps, newRequestId);
  const { tracing = noTracing } = deps;
  traceRequests(app, tracing);
  addSharedSchemas(app);

  const { registry = new Registry() } = deps;
  const metrics = createGatewayMetrics(registry);
  const checkSite = createSiteCheck({ hosts: deps.allowedHosts, origins: deps.allowedOrigins });
  const accessTokens = deps.oauth && createAccessTokens(deps.oauth);
  const issuedKeys = await followIssuedKeys(deps);
  app.addHook('onClose', async () => issuedKeys.close());
  const streamTickets = createStreamTickets(deps.dispatch.tickets);
  const limits = deps.limits ?? createTenantLimits(() => noLimitsFile);
  const addressOf = createAddressOf(deps.trustedProxies ?? []);
  const { admit, callerOf } = createAdmit({
    authenticate: createAuthenticate({
      ...deps,
      accessTokens,
      issuedKeys,
      streamTickets,
      consoleSessions: deps.dispatch.consoleSessions,
    }),
    rate: createRequestRate({ budget: deps.dispatch.requestBudget, limits }),
    failures: createFailedAttempts({ perSecond: deps.failuresPerSecond }),
    addressOf,
  });
  const { audit, recordChange } = openAudit(app, { ...deps, metrics, addressOf, callerOf });
  const keyless = boundKeyless(app.server);
  app.decorateRequest('caller', null as unknown as Caller);
  app.addHook('onRequest', async (request, reply) => {
    // A cache must not give one origin the response for another.
    if (deps.allowedOrigins.length > 0) reply.raw.setHeader('Vary', 'Origin');
    checkSite(request.headers);
    if (answerPage(request, reply)) return reply;
    const { config } = request.routeOptions;
    if (config.public) return undefined;
    const sessions = config.sessions === true;
    const ticket = config.tickets ? ticketOf(request) : undefined;
    const consoleToken = sessions ? undefined : consoleTokenOf(request.headers);
    const { caller, standing } = await admit(request.raw, { sessions, ticket, consoleToken });
    request.caller = caller;
    if (config.scope) requireScope(caller, config.scope);
    keyless.isKnown(request.raw.socket);
    // On the raw response, so that the responses of /mcp, which are written without Fastify, have them, too.
    if (standing) reply.raw.setHeaders(new Headers(rateHeaders(standing)));
    return undefined;
  });

  holdContinue(app.server);
  app.addHook('preParsing', async (request, reply) => continueBody(request.raw, reply.raw));

  const logRequest = createRequestLog(deps.logger, metrics);
  app.addHook('onResponse', logRequest.routed);

  const slots = slotsOf(limits);
  const streams = createEventStreams({ slots: slots.streams });
  app.addHook('preClose', async () => {
    streams.close();
    deps.dispatch.bus.endPolls();
  });
  const changes = await followChanges(deps);
  app.addHook('onClose', async () => changes.close());
  const allTools = createToolCalls({ ...deps, audit, slots: slots.calls, onCalled: metrics.toolCalled });
  const tools = withToolSearch(allTools, { plugins: deps.plugins, mode: deps.toolSearch ?? 'auto' });
  app.addHook('onClose', publishListedTools(deps, changes));
  const written = await followSkillsAndAgents(deps, changes);
  app.addHook('onClose', written.close);
  const { skills, agents, folders } = written;
  const upstreams = followUpstreams({ ...deps, ...(deps.upstreams ?? noUpstreams), changes });
  app.addHook('onClose', upstreams.close);
  const offered = { ...deps, upstreams, tools, skills, agents };
  const writes = deps.dispatch.probeWrites({ onWritten: metrics.redisWritten });
  app.addHook('onClose', async () => writes.close());
  const routes: RouteDeps = {
    ...offered,
    folders,
    commands: createCommands({ ...offered, changes }),
    streams,
    limits,
    slots,
    issuedKeys,
    streamTickets,
    recordChange,
    writes,
    threadFiles: createThreadFiles(deps),
  };
  if (deps.files) {
    const { store, collecting } = deps.files;
    const stopCollecting = startCollectingFiles({ ...deps, store }, collecting);
    app.addHook('onClose', async () => stopCollecting());
  }

  await app.register(fastifySwagger, openApiInfo);
  await app.register(async (scope) => {
    await addRestRoutes(scope, { ...routes, registry });
    await scope.register(async (mcp) => {
      addMcpRoute(mcp, {
        ...deps,
        tools,
        skills,
        changes,
        audit,
        tracing,
        newRequestId,
        addressOf,
        admit: async (request, options) => {
          const admitted = await admit(request, options);
          keyless.isKnown(request.socket);
          return admitted;
        },
        limits,
        slots,
        checkSite,
        bodyLimit,
        onAnswered: logRequest.answered,
      });
    });
    addProtectedResourceRoutes(scope, deps.oauth);
    await addDocsRoute(scope);
    await addConsoleRoute(scope, deps.consoleFolder);
    scope.get(
      '/openapi.yaml',
      { config: { public: true }, schema: { hide: true } },
      async (_request, reply) =>
        reply.type('application/yaml; charset=utf-8').send(app.swagger({ yaml: true })),
    );
  });
  return app;
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

const noUpstreams = { file: undefined, env: {}, unprefixed: [] };

/** Places of the whole gateway: what one process serves well. */
const slotsOf = (limits: TenantLimits): GatewaySlots => ({
  calls: createSlots({ limits, name: 'concurrentCalls', most: 5_000 }),
  streams: createSlots({ limits, name: 'streams', most: 5_000, code: 'too_many_streams' }),
  subscriptions: createSlots({ limits, name: 'subscriptions', most: 5_000 }),
});
