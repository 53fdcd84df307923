import { AppError } from '@harness/contracts';
import { checkPath } from '@harness/workspaces';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { answers, refTo } from '../../openapi/schemas.ts';
import { threadParams } from '../threads/threads.ts';
import { attach, etagOf, isKnown, preconditionOf, rangeOf } from './file-headers.ts';
import { maxUploadBytes, uploadOf } from './upload.ts';

interface FileRoute {
  Params: { threadId: string; '*': string };
  Querystring: { run?: string };
}

const params = {
  ...threadParams,
  properties: {
    ...threadParams.properties,
    '*': { type: 'string', description: 'Relative; "/" between its parts may be sent as it is' },
  },
  required: [...threadParams.required, '*'],
};

/** The query of routes that read a version. */
export const runQuery = {
  run: {
    type: 'string',
    pattern: '^run_[0-9a-f]{32}$',
    description: 'The files as they were after this run; default: as they are now',
  },
};

const ifMatch = {
  'if-match': { type: 'string', description: 'ETags: the change is made only if the file has one of them' },
  'if-none-match': { type: 'string', description: '`*`: the change is made only if there is no such file' },
};

const tags = ['files'];
const bytes = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };

const refOf = ({ caller, params }: FastifyRequest<FileRoute>) => ({
  tenant: caller.principal.tenant,
  threadId: params.threadId,
});

/** Adds GET, PUT and DELETE /v1/threads/:threadId/files/*. */
export function addOneFileRoutes(app: FastifyInstance, deps: RouteDeps): void {
  addGetRoute(app, deps);
  addPutRoute(app, deps);
  addDeleteRoute(app, deps);
}

function addGetRoute(app: FastifyInstance, { threadFiles }: RouteDeps): void {
  app.get<FileRoute>(
    '/v1/threads/:threadId/files/*',
    {
      config: { scope: 'threads' },
      schema: {
        tags,
        operationId: 'getFile',
        summary: 'Download a file of a thread',
        description:
          'With an ETag (If-None-Match), one range of bytes (Range, If-Range), always as an attachment.',
        params,
        querystring: { type: 'object', properties: runQuery, additionalProperties: false },
        response: answers(
          {
            200: { description: 'The file', content: bytes },
            206: { description: 'The range of it', content: bytes },
            304: { type: 'null', description: 'The caller has it already' },
          },
          404,
          416,
          422,
        ),
      },
    },
    async (request, reply) => {
      const path = checkPath(request.params['*']);
      const { store, version } = await threadFiles.at(refOf(request), request.query.run);
      if (version === undefined)
        throw new AppError(
          'file_not_found',
          'This thread has no files. GET …/files lists them once there are some.',
        );
      const { entry, stream } = await store.open(version, path);
      const etag = etagOf(entry.sha256);
      if (isKnown(request, etag)) return reply.code(304).header('ETag', etag).send();
      const range = rangeOf(request, { size: entry.size, etag });
      attach(reply, { name: path.slice(path.lastIndexOf('/') + 1), etag })
        .type('application/octet-stream')
        .header('Accept-Ranges', 'bytes');
      if (!range) return reply.header('Content-Length', entry.size).send(await stream());
      return reply
        .code(206)
        .header('Content-Range', `bytes ${range.start}-${range.end}/${entry.size}`)
        .header('Content-Length', range.end - range.start + 1)
        .send(await stream(range));
    },
  );
}

function addPutRoute(app: FastifyInstance, { threadFiles }: RouteDeps): void {
  app.put<FileRoute>(
    '/v1/threads/:threadId/files/*',
    {
      config: { scope: 'threads' },
      schema: {
        tags,
        operationId: 'putFile',
        summary: 'Write a file of a thread, between its turns',
        description: `The body is the file, at most ${maxUploadBytes} bytes, as application/octet-stream. A warm session sees it before its next turn.`,
        params,
        headers: { type: 'object', properties: ifMatch },
        response: answers({ 200: refTo('FileChanges') }, 400, 404, 409, 412, 422, 507),
      },
    },
    async (request, reply) => {
      const path = checkPath(request.params['*']);
      const thread = refOf(request);
      await threadFiles.at(thread);
      const put = uploadOf(request, 'application/octet-stream');
      const staged = await threadFiles.stage(thread.tenant, [{ path, put }], maxUploadBytes);
      const [file] = staged;
      if (!file || !('stored' in file)) throw new Error(`the file ${path} was not staged`);
      const { stored } = file;
      const change = await threadFiles.change(thread, [{ path, stored }], preconditionOf(request, path));
      return reply.header('ETag', etagOf(stored.sha256)).send(change);
    },
  );
}

function addDeleteRoute(app: FastifyInstance, { threadFiles }: RouteDeps): void {
  app.delete<FileRoute>(
    '/v1/threads/:threadId/files/*',
    {
      config: { scope: 'threads' },
      schema: {
        tags,
        operationId: 'deleteFile',
        summary: 'Delete a file of a thread, or a folder and all in it, between its turns',
        params,
        headers: { type: 'object', properties: ifMatch },
        response: answers({ 200: refTo('FileChanges') }, 404, 409, 412, 422, 507),
      },
    },
    async (request) => {
      const path = checkPath(request.params['*']);
      return threadFiles.change(refOf(request), [{ path, delete: true }], preconditionOf(request, path));
    },
  );
}
