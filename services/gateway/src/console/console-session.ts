import { AppError } from '@harness/contracts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RouteDeps } from '../app-deps.ts';
import { isLocal } from '../http/credentials/authenticate.ts';
import { holderOf, nameOfHolder } from '../http/credentials/holder.ts';
import { answers, refTo } from '../openapi/schemas.ts';
import { consoleCookieOf, consoleTokenOf, isFromHttps, noConsoleCookie } from './console-cookie.ts';

const tags = ['console'];
const url = '/v1/console-session';

/** Adds GET, POST and DELETE /v1/console-session: who the caller is, and signing in and out of the console. */
export function addConsoleSessionRoutes(app: FastifyInstance, deps: RouteDeps): void {
  const { consoleSessions } = deps.dispatch;

  app.get(
    url,
    {
      schema: {
        tags,
        operationId: 'getConsoleSession',
        summary: 'Who the caller is, and what it may do',
        response: answers({ 200: refTo('ConsoleSession') }),
      },
    },
    async (request) => {
      requireConsole(request);
      const token = request.headers.authorization === undefined ? consoleTokenOf(request.headers) : undefined;
      const found = token === undefined ? undefined : await consoleSessions.find(token);
      return described(request, found?.expiresAt);
    },
  );

  app.post(
    url,
    {
      config: { audit: false },
      schema: {
        tags,
        operationId: 'createConsoleSession',
        summary: 'Sign in to the console with a key or an access token',
        description:
          'Sets an HttpOnly cookie for /v1. It has the rights of the credential, ends with it (revoked, changed, expired) or after 12 hours, and is accepted only with requests from the console’s own origin.',
        response: answers({ 201: refTo('ConsoleSession') }),
      },
    },
    async (request, reply) => {
      requireConsole(request);
      const { caller, headers } = request;
      reply.code(201).header('Cache-Control', 'no-store');
      // A gateway without keys has no signing in.
      if (isLocal(caller)) return described(request);
      // A session must not prolong itself.
      if (headers.authorization === undefined)
        throw new AppError(
          'unauthorized',
          'Sign in with a key or an access token: "Authorization: Bearer <key>".',
        );
      const holder = holderOf(caller, false);
      const session = await consoleSessions.create({
        holder: nameOfHolder(holder),
        content: holder,
        endsAt: caller.endsAt,
      });
      deps.recordChange(request, {});
      reply.header('Set-Cookie', consoleCookieOf(session, isFromHttps(headers)));
      return described(request, session.expiresAt);
    },
  );

  app.delete(
    url,
    {
      schema: {
        tags,
        operationId: 'deleteConsoleSession',
        summary: 'Sign out of the console',
        response: answers({ 204: { type: 'null', description: 'Signed out' } }),
      },
    },
    async (request, reply) => {
      requireConsole(request);
      const token = consoleTokenOf(request.headers);
      if (token !== undefined) await consoleSessions.end(token);
      return reply
        .code(204)
        .header('Set-Cookie', noConsoleCookie(isFromHttps(request.headers)))
        .send();
    },
  );
}

/** Throws `forbidden` for a credential with which the console would show nothing. */
function requireConsole({ caller }: FastifyRequest): void {
  if (caller.principal.scopes.length > 0) return;
  throw new AppError('forbidden', 'This key or token has no scope, so the console would show nothing.');
}

function described({ caller }: FastifyRequest, expiresAt?: number) {
  const { tenant, keyId, scopes } = caller.principal;
  return {
    tenant,
    keyId,
    scopes,
    signIn: isLocal(caller) ? 'none' : 'needed',
    expiresAt: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
  };
}
