/**
 * The /mcp endpoint: both protocol eras (2026-07-28, and 2025-03-26 to 2025-11-25). A request arrives either
 * through the short path below Fastify (short-path.ts) or through the Fastify routes of this file.
 *
 * This folder:
 *   methods.ts             tools, resources, prompts and completions, the same in both eras
 *   method-params.ts       validates the params of methods
 *   task-methods.ts        the tasks extension
 *   task-runner.ts         runs tool calls as tasks of this gateway
 *   continued-call.ts      a tool call that continues as a task
 *   server-instructions.ts what plugins say of their tools
 *   skills-extension.ts    the skills extension
 *   subscribed.ts          notifies the owners of resources of subscriptions
 *   wire/                  JSON-RPC, classification, HTTP responses, the short path
 *   modern/                2026-07-28: stateless
 *   legacy/                2025-03-26 to 2025-11-25: sessions
 */
import type { IncomingMessage } from 'node:http';
import { AppError } from '@harness/contracts';
import type { Dispatch, TokenSecrets } from '@harness/dispatch';
import type { PluginHost } from '@harness/plugin-kit';
import type { SkillSet } from '@harness/plugins';
import type { Logger, Scrubber, Tracing } from '@harness/runtime';
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import type { GatewaySlots } from '../app-deps.ts';
import type { Audit } from '../audit/audit.ts';
import { auditMethods } from '../audit/audit-methods.ts';
import type { Changes } from '../content/list-changes.ts';
import { usableSkills } from '../content/thread-profile.ts';
import type { AddressOf } from '../http/client-address.ts';
import type { Admit } from '../http/credentials/admit.ts';
import { type Caller, requireToolAccess } from '../http/credentials/authenticate.ts';
import { appErrorOf } from '../http/errors.ts';
import { readJson, requireUtf8 } from '../http/json-body.ts';
import { retryHeaders } from '../http/limit-headers.ts';
import { traceparentOf } from '../http/trace-requests.ts';
import type { TenantLimits } from '../limits/tenant-limits.ts';
import { callerScope } from '../tools/caller-scope.ts';
import type { ToolCalls } from '../tools/tool-calls.ts';
import { createClientRequests } from './legacy/client-requests.ts';
import { createLegacyEra } from './legacy/legacy-era.ts';
import { createLegacyStreams } from './legacy/legacy-streams.ts';
import { createMethods } from './methods.ts';
import { createModernEra } from './modern/modern-era.ts';
import { createServerInstructions } from './server-instructions.ts';
import { createSkillMethods } from './skills-extension.ts';
import { createSubscribed } from './subscribed.ts';
import { createTaskMethods } from './task-methods.ts';
import { classify } from './wire/classify.ts';
import { createFaultOf, errorMessage, requestIdIn } from './wire/json-rpc.ts';
import { createMcpResponses } from './wire/mcp-response.ts';
import { createShortPath, type ShortPath, type ShortPathDeps } from './wire/short-path.ts';

/** What /mcp needs. */
export interface McpDeps {
  dispatch: Dispatch;
  plugins: PluginHost;
  tools: ToolCalls;
  skills: SkillSet;
  changes: Changes;
  logger: Logger;
  limits: TenantLimits;
  scrubber: Scrubber;
  audit: Audit;
  tracing: Tracing;
  /** Makes the id of a request that Fastify does not see. */
  newRequestId(): string;
  addressOf: AddressOf;
  /** Sign request state that travels through clients; the same at every gateway. */
  tokenSecrets: Pick<TokenSecrets, 'accepted'>;
  admit: Admit;
  slots: GatewaySlots;
  checkSite(headers: IncomingMessage['headers']): void;
  /** Largest body, bytes. */
  bodyLimit: number;
  onAnswered: ShortPathDeps['onAnswered'];
}

/** Adds POST, GET and DELETE /mcp, and puts the short path in front of Fastify. */
export function addMcpRoute(app: FastifyInstance, given: McpDeps): void {
  const faultOf = createFaultOf(given.scrubber);
  const deps = { ...given, faultOf, instructionsFor: createServerInstructions(given) };
  const { dispatch, tools } = deps;
  const methods = auditMethods(
    { ...createMethods(deps), ...createSkillMethods((tenant) => usableSkills(deps, tenant)) },
    deps.audit,
  );
  const tasks = createTaskMethods(deps);
  const subscribed = createSubscribed(deps);
  const requests = createClientRequests(dispatch.replicas);
  const streams = createLegacyStreams(deps);
  const responses = createMcpResponses();
  const legacy = createLegacyEra({ ...deps, methods, requests, streams, responses, subscribed });
  const modern = createModernEra({ ...deps, methods, tasks, responses, subscribed });
  const shortPath = createShortPath({ ...deps, legacy, modern });
  shortPath.takeOver(app.server);
  readBodies(app, shortPath, deps.bodyLimit);
  app.addHook('preClose', async () => {
    shortPath.close();
    streams.close();
    await modern.close();
  });
  app.addHook('onClose', async () => {
    tasks.close();
    legacy.close();
    requests.close();
  });

  /** Callers that ask to search (`/mcp?search=1`), by the caller itself: views are kept by object. */
  const searching = new WeakMap<Caller, Caller>();
  const callerOf = async ({ caller, query }: FastifyRequest) => {
    requireToolAccess(caller);
    if (caller.session || (query as { search?: unknown }).search !== '1') return tools.present(caller);
    const known = searching.get(caller) ?? { ...caller, search: true };
    searching.set(caller, known);
    return known;
  };
  const hidden = { config: { sessions: true }, schema: { hide: true } };
  app.setErrorHandler((thrown: FastifyError, request, reply) => {
    const error = appErrorOf(thrown);
    if (error.code === 'unauthorized' || error.code === 'forbidden') throw thrown; // the app's error handler adds the WWW-Authenticate challenge
    request.source.error = error.code;
    request.log[error.status >= 500 ? 'error' : 'debug']({ err: thrown, code: error.code }, 'request failed');
    return reply
      .code(error.status)
      .headers(retryHeaders(error))
      .send(errorMessage(requestIdIn(request.body), faultOf(error)));
  });

  app.post('/mcp', hidden, async (request, reply) => {
    const caller = await callerOf(request);
    // Resources, prompts and questions before a task run plugin code, which needs the caller's scope.
    const { tenant, keyId } = caller.principal;
    const serve = () => {
      const http = { request, reply, caller };
      const post = classify(request.headers, request.body);
      return post.era === 'modern' ? modern.post(http, post.call) : legacy.post(http, post.incoming);
    };
    return callerScope.run({ tenant, keyId, call: tools.outerCallOf(caller) }, () =>
      deps.tracing.within(traceparentOf(request.headers.traceparent), serve),
    );
  });
  app.get('/mcp', hidden, async (request, reply) => legacy.get(request, reply, await callerOf(request)));
  app.delete('/mcp', hidden, async (request, reply) =>
    legacy.delete(request, reply, await callerOf(request)),
  );
}

/**
 * Parses the JSON bodies of /mcp: the bytes that the short path has already read, or else the request itself.
 */
function readBodies(app: FastifyInstance, shortPath: ShortPath, bodyLimit: number): void {
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser(
    'application/json',
    async (request: FastifyRequest, payload: AsyncIterable<Buffer>) => {
      requireUtf8(request.headers['content-type']);
      const body = shortPath.bodyOf(request.raw) ?? (await bodyOf(payload, bodyLimit));
      return readJson(body.toString('utf8'));
    },
  );
}

/** Reads a body up to the limit. Throws `body_too_large`. */
async function bodyOf(payload: AsyncIterable<Buffer>, bodyLimit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of payload) {
    bytes += chunk.length;
    if (bytes > bodyLimit)
      throw new AppError(
        'body_too_large',
        `The body is larger than ${bodyLimit} bytes, the maximum. Send smaller arguments.`,
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
