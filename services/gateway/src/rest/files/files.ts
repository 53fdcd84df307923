/**
 * Files of threads: REST routes.
 *
 * This folder:
 *   one-file.ts      GET, PUT, DELETE of a file
 *   all-files.ts     the list, and tar archives both ways
 *   diff.ts          what differs between two versions
 *   file-headers.ts  headers of responses, ETags, ranges
 *   upload.ts        bodies that are not JSON
 */
import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { addAllFilesRoutes } from './all-files.ts';
import { addDiffRoute } from './diff.ts';
import { addOneFileRoutes } from './one-file.ts';
import { readUploads } from './upload.ts';

/** Adds the routes of files below /v1/threads/:threadId. */
export async function addFileRoutes(app: FastifyInstance, deps: RouteDeps): Promise<void> {
  await app.register(async (scope) => {
    readUploads(scope);
    addOneFileRoutes(scope, deps);
    addAllFilesRoutes(scope, deps);
    addDiffRoute(scope, deps);
  });
}
