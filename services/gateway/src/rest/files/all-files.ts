import type { ListedFile } from '@harness/contracts';
import { type Entry, readTar } from '@harness/workspaces';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { answers, boundedListOf, refTo } from '../../openapi/schemas.ts';
import { boundedList } from '../bounded-list.ts';
import { threadParams } from '../threads/threads.ts';
import { attach, etagOf, isKnown } from './file-headers.ts';
import { runQuery } from './one-file.ts';
import { maxUploadBytes, uploadOf } from './upload.ts';

interface FilesRoute {
  Params: { threadId: string };
  Querystring: { run?: string; format?: 'json' | 'tar'; prefix: string; limit: number; offset: number };
}

const tags = ['files'];
const refOf = ({ caller, params }: FastifyRequest<FilesRoute>) => ({
  tenant: caller.principal.tenant,
  threadId: params.threadId,
});

/** Adds GET and PUT /v1/threads/:threadId/files. */
export function addAllFilesRoutes(app: FastifyInstance, deps: RouteDeps): void {
  addListRoute(app, deps);
  addPutRoute(app, deps);
}

const listing = boundedListOf('files', 'ListedFile');
const listed = {
  ...listing,
  properties: {
    version: { type: ['string', 'null'], description: 'Null: the thread has no files' },
    count: { type: 'integer', description: 'Files and symbolic links of the version' },
    bytes: { type: 'integer', description: 'Sum of their sizes' },
    ...listing.properties,
  },
  required: ['version', 'count', 'bytes', ...listing.required],
};

function addListRoute(app: FastifyInstance, { threadFiles }: RouteDeps): void {
  app.get<FilesRoute>(
    '/v1/threads/:threadId/files',
    {
      config: { scope: 'threads' },
      schema: {
        tags,
        operationId: 'listFiles',
        summary: 'List the files of a thread, or download all as a tar archive',
        description: 'In the order of their paths. The archive has no symbolic links.',
        params: threadParams,
        querystring: {
          type: 'object',
          properties: {
            ...runQuery,
            format: { enum: ['json', 'tar'], description: 'tar: all files as an archive; default json' },
            prefix: { type: 'string', maxLength: 1024, default: '', description: 'Of the paths to list' },
            limit: { type: 'integer', minimum: 1, maximum: 5_000, default: 1_000 },
            offset: { type: 'integer', minimum: 0, maximum: 10_000_000, default: 0 },
          },
          additionalProperties: false,
        },
        response: answers(
          {
            200: {
              description: 'The files',
              content: {
                'application/json': { schema: listed },
                'application/x-tar': { schema: { type: 'string', format: 'binary' } },
              },
            },
            304: { type: 'null', description: 'The caller has this version already' },
          },
          404,
          422,
        ),
      },
    },
    async (request, reply) => {
      const { run, format, prefix, limit, offset } = request.query;
      const { store, version } = await threadFiles.at(refOf(request), run);
      const etag = version === undefined ? undefined : etagOf(format === 'tar' ? `${version}.tar` : version);
      if (etag && isKnown(request, etag)) return reply.code(304).header('ETag', etag).send();
      if (format === 'tar') {
        attach(reply, { name: `${request.params.threadId}.tar`, ...(etag && { etag }) });
        return reply.type('application/x-tar').send(await store.tar(version));
      }
      if (version === undefined) return { version: null, count: 0, bytes: 0, files: [] };
      const { entries, files: count, bytes } = await store.manifest(version);
      const wanted = [...entries.values()].filter(({ path }) => path.startsWith(prefix));
      const { kept, ...rest } = boundedList(wanted.slice(offset, offset + limit).map(listedOf));
      reply.header('ETag', etag);
      return { version, count, bytes, files: kept, ...rest };
    },
  );
}

const listedOf = (entry: Entry): ListedFile => entry;

function addPutRoute(app: FastifyInstance, { threadFiles }: RouteDeps): void {
  app.put<FilesRoute>(
    '/v1/threads/:threadId/files',
    {
      config: { scope: 'threads' },
      schema: {
        tags,
        operationId: 'putFiles',
        summary: 'Write the files of a tar archive into those of a thread, between its turns',
        description: `The body is the archive, at most ${maxUploadBytes} bytes, as application/x-tar. Its files are added, or replace those of the same path; others stay. An archive with links, devices or paths out of the folder is refused as a whole.`,
        params: threadParams,
        querystring: {
          type: 'object',
          properties: { format: { enum: ['tar'], default: 'tar' } },
          additionalProperties: false,
        },
        response: answers({ 200: refTo('FileChanges') }, 400, 404, 409, 422, 507),
      },
    },
    async (request) => {
      const thread = refOf(request);
      await threadFiles.at(thread);
      const archive = readTar(uploadOf(request, 'application/x-tar'), {
        bytes: maxUploadBytes,
        files: maxArchiveEntries,
      });
      const staged = await threadFiles.stage(thread.tenant, archive, maxUploadBytes);
      return threadFiles.change(thread, staged);
    },
  );
}

/** Most files and folders of an archive. */
const maxArchiveEntries = 20_000;
