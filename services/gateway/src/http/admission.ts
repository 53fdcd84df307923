import { noTracing } from '@harness/runtime';
import type { FastifyInstance } from 'fastify';
import type { AppDeps } from '../app-deps.ts';
import type { Audit } from '../audit/audit.ts';
import type { RecordChange } from '../audit/audit-requests.ts';
import { openAudit } from '../audit/open-audit.ts';
import { consoleTokenOf } from '../console/console-cookie.ts';
import type { FollowedKeys } from '../keys/issued-keys.ts';
import { createFailedAttempts } from '../limits/failed-attempts.ts';
import { createRequestRate } from '../limits/request-rate.ts';
import type { TenantLimits } from '../limits/tenant-limits.ts';
import type { GatewayMetrics } from '../metrics/gateway-metrics.ts';
import { createAccessTokens } from '../oauth/access-tokens.ts';
import { type AddressOf, createAddressOf } from './client-address.ts';
import { continueBody, holdContinue } from './continue.ts';
import { answerPage } from './cors.ts';
import { type Admit, createAdmit } from './credentials/admit.ts';
import { type Caller, createAuthenticate, requireScope } from './credentials/authenticate.ts';
import { type StreamTickets, ticketOf } from './credentials/stream-tickets.ts';
import { boundKeyless } from './keyless-connections.ts';
import { rateHeaders } from './limit-headers.ts';
import { createSiteCheck } from './same-site.ts';
import { traceRequests } from './trace-requests.ts';

/** What the admission of requests needs besides the app's dependencies. */
export interface AdmissionDeps extends AppDeps {
  issuedKeys: FollowedKeys;
  streamTickets: StreamTickets;
  limits: TenantLimits;
  metrics: GatewayMetrics;
}

/** The admission of requests, for routes that are served without Fastify. */
export interface RequestAdmission {
  admit: Admit;
  /** Throws `forbidden` for a Host or an Origin that is not allowed, and `invalid_request` without Host. */
  checkSite: ReturnType<typeof createSiteCheck>;
  addressOf: AddressOf;
  audit: Audit;
  recordChange: RecordChange;
}

/**
 * Adds what every request passes before its body is read, in this order: trace, Host and Origin, CORS, credential, rate, scope. The
 * audit records what is refused here.
 */
export function addAdmission(app: FastifyInstance, deps: AdmissionDeps): RequestAdmission {
  traceRequests(app, deps.tracing ?? noTracing);
  const checkSite = createSiteCheck({ hosts: deps.allowedHosts, origins: deps.allowedOrigins });
  const addressOf = createAddressOf(deps.trustedProxies ?? []);
  const { admit, callerOf } = createAdmit({
    authenticate: createAuthenticate({
      ...deps,
      accessTokens: deps.oauth && createAccessTokens(deps.oauth),
      consoleSessions: deps.dispatch.consoleSessions,
    }),
    rate: createRequestRate({ budget: deps.dispatch.requestBudget, limits: deps.limits }),
    failures: createFailedAttempts({ perSecond: deps.failuresPerSecond }),
    keyless: boundKeyless(app.server),
    addressOf,
  });
  const { audit, recordChange } = openAudit(app, { ...deps, addressOf, callerOf });
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
    // On the raw response, so that the responses of /mcp, which are written without Fastify, have them, too.
    if (standing) reply.raw.setHeaders(new Headers(rateHeaders(standing)));
    return undefined;
  });
  // The client's `Expect: 100-continue` is answered once the request is admitted.
  holdContinue(app.server);
  app.addHook('preParsing', async (request, reply) => continueBody(request.raw, reply.raw));
  return { admit, checkSite, addressOf, audit, recordChange };
}
