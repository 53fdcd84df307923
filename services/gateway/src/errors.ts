import { AppError, type ErrorCode, toAppError } from '@harness/contracts';
import { maxErrors, readableErrors, schemaErrorOf } from '@harness/plugin-kit';
import type { ErrorObject } from 'ajv';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { challengeOf } from './oauth/protected-resource.ts';
import type { OAuthSettings } from './oauth/settings.ts';

/** REST's door: every failure leaves as `{error: {code, message, details?}}`. */
export function addErrorDoor(app: FastifyInstance, oauth: OAuthSettings | undefined): void {
  const send = (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const error = appErrorOf(thrown);
    const level = error.status >= 500 ? 'error' : 'debug';
    request.log[level]({ err: thrown, code: error.code }, 'request failed');
    const challenge = challengeOf(error, request, oauth);
    if (challenge) reply.header('WWW-Authenticate', challenge);
    if (error.retry) reply.header('Retry-After', '1');
    return reply.code(error.status).type('application/json; charset=utf-8').send({ error: error.toBody() });
  };
  app.setErrorHandler((thrown: FastifyError, request, reply) => send(thrown, request, reply));
  app.setNotFoundHandler((request, reply) =>
    send(
      new AppError('not_found', `There is no ${request.method} ${request.url.split('?')[0]}.`),
      request,
      reply,
    ),
  );
}

const fastifyCodes: Record<string, ErrorCode> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
};

export function appErrorOf(thrown: unknown): AppError {
  const fastify = thrown as Partial<FastifyError>;
  if (fastify.validation) {
    const root = fastify.validationContext ?? '';
    // With the place in front, so that a header and a field of the body are told apart.
    const errors = fastify.validation.slice(0, maxErrors + 1).map((error) => {
      const told = schemaErrorOf(error as ErrorObject);
      return { ...told, instancePath: `${root}${told.instancePath}` };
    });
    const details = errors.map(({ instancePath, message, given, params }) => ({
      path: instancePath,
      message,
      ...(given === undefined ? {} : { given }),
      ...params,
    }));
    const message = `The request is not valid:\n${readableErrors(errors)}`;
    return new AppError('invalid_request', message, { details: details.slice(0, maxErrors) });
  }
  if (thrown instanceof AppError) return thrown;
  // What Fastify itself refuses (bad JSON, wrong media type, too large) is the caller's doing.
  if (typeof fastify.statusCode === 'number' && fastify.statusCode < 500) {
    return new AppError(
      fastifyCodes[fastify.code ?? ''] ?? 'invalid_request',
      fastify.message ?? 'The request is not valid.',
    );
  }
  return toAppError(thrown);
}
