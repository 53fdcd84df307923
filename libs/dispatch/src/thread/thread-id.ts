import { createHash } from 'node:crypto';
import { AppError } from '@harness/contracts';

/**
 * The own id of a thread that a caller names: made from tenant and name, so that the same name means a
 * different thread for each tenant. threads.lua has the same function (`idOfNamed`).
 */
export const idOfNamedThread = (tenant: string, name: string): string =>
  `thr_${createHash('sha1').update(`${tenant}\n${name}`).digest('hex').slice(0, 32)}`;

/** The error for a thread that the tenant does not have. */
export const threadNotFound = (threadId: string): AppError =>
  new AppError(
    'thread_not_found',
    `There is no thread ${threadId}. Check the id, or create the thread first.`,
  );
