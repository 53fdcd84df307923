import { randomBytes } from 'node:crypto';
import { AppError } from '@harness/contracts';
import type { IssuedKey } from '@harness/dispatch';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { RouteDeps } from '../../app-deps.ts';
import { isLocal } from '../../http/credentials/authenticate.ts';
import { ApiKey, newKey, sha256Of } from '../../keys/api-keys.ts';
import { rightsFrom } from '../../keys/key-rights.ts';
import { answers, jsonSchemaOf, listOf } from '../../openapi/schemas.ts';

const CreateKey = ApiKey.omit({ keySha256: true }).partial({ id: true, tenant: true });
type CreateKey = z.infer<typeof CreateKey>;

const tags = ['keys'];
const keyParams = {
  type: 'object',
  properties: { id: { type: 'string' } },
  required: ['id'],
};

/** Adds GET and POST /v1/keys, and DELETE /v1/keys/:id: the keys of the caller's tenant. */
export function addKeyRoutes(app: FastifyInstance, deps: RouteDeps): void {
  addListRoute(app, deps);
  addCreateRoute(app, deps);
  addDeleteRoute(app, deps);
}

/** Keys of the configuration, which the API neither makes nor revokes. */
const configuredKeys = ({ keys, keyFile }: RouteDeps) => [
  ...keys.map((key) => ({ key, source: 'environment' as const })),
  ...(keyFile?.current() ?? []).map((key) => ({ key, source: 'file' as const })),
];

function addListRoute(app: FastifyInstance, deps: RouteDeps): void {
  app.get(
    '/v1/keys',
    {
      config: { scope: 'admin' },
      schema: {
        tags,
        operationId: 'listKeys',
        summary: 'List the API keys of the tenant, without their secrets',
        response: answers({ 200: listOf('keys', 'ApiKey') }),
      },
    },
    async (request) => {
      const { tenant } = request.caller.principal;
      const configured = configuredKeys(deps).filter(({ key }) => key.tenant === tenant);
      const issued = await deps.dispatch.issuedKeys.of(tenant);
      return {
        keys: [
          ...configured.map(({ key, source }) => shown(key, source)),
          ...issued
            .toSorted((one, other) => (one.createdAt < other.createdAt ? -1 : 1))
            .map((key) => shown(key, 'api')),
        ],
      };
    },
  );
}

const shown = <Key extends { keySha256: string }>({ keySha256: _, ...key }: Key, source: string) => ({
  ...key,
  source,
});

function addCreateRoute(app: FastifyInstance, deps: RouteDeps): void {
  const { dispatch, issuedKeys, recordChange } = deps;
  const made = {
    description: 'The key is shown once',
    type: 'object',
    allOf: [
      { $ref: 'ApiKey#' },
      { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] },
    ],
  };
  app.post<{ Body: CreateKey }>(
    '/v1/keys',
    {
      config: { scope: 'admin', audit: false },
      schema: {
        tags,
        operationId: 'createKey',
        summary: 'Make an API key with at most the caller’s rights',
        body: jsonSchemaOf(CreateKey),
        response: answers({ 201: made }, 400, 409, 429),
      },
    },
    async (request, reply) => {
      requireCredential(request);
      const { id = `key_${randomBytes(6).toString('hex')}`, ...wanted } = request.body;
      if (configuredKeys(deps).some(({ key }) => key.id === id))
        throw new AppError(
          'key_exists',
          `There is a key "${id}" in the gateway’s configuration: choose another id.`,
        );
      const key = newKey();
      const stored: IssuedKey = {
        id,
        ...rightsFrom(request.caller, wanted),
        keySha256: sha256Of(key).toString('hex'),
        createdAt: new Date().toISOString(),
        createdBy: request.caller.principal.keyId,
      };
      await dispatch.issuedKeys.create(stored);
      recordChange(request, { target: id });
      await issuedKeys.refresh(stored.tenant);
      return reply.code(201).send({ ...shown(stored, 'api'), key });
    },
  );
}

/** Without a configured key the gateway lets every program on this machine in, whatever keys are made. */
function requireCredential({ caller }: FastifyRequest): void {
  if (isLocal(caller))
    throw new AppError(
      'forbidden',
      'This gateway has no key, so everybody on this machine may use it; another key would not change that. Set HARNESS_API_KEY or HARNESS_API_KEYS_FILE, start again, and make keys with that key.',
    );
}

function addDeleteRoute(app: FastifyInstance, deps: RouteDeps): void {
  const { dispatch, issuedKeys } = deps;
  app.delete<{ Params: { id: string } }>(
    '/v1/keys/:id',
    {
      config: { scope: 'admin' },
      schema: {
        tags,
        operationId: 'deleteKey',
        summary: 'Revoke an API key that the API has made',
        params: keyParams,
        response: answers({ 204: { type: 'null', description: 'Revoked' } }, 404, 409),
      },
    },
    async (request, reply) => {
      const { tenant } = request.caller.principal;
      const { id } = request.params;
      const configured = configuredKeys(deps).find(({ key }) => key.id === id && key.tenant === tenant);
      if (configured)
        throw new AppError(
          'wrong_state',
          `The key "${id}" is in the gateway’s configuration: the operator revokes it there.`,
          { details: { source: configured.source } },
        );
      await dispatch.issuedKeys.delete(tenant, id);
      await issuedKeys.refresh(tenant);
      return reply.code(204).send();
    },
  );
}
