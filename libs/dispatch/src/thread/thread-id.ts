import { createHash } from 'node:crypto';

/**
 * The own id of a thread that a caller names: made from tenant and name, so that the same name means a
 * different thread for each tenant. threads.lua has the same function (`idOfNamed`).
 */
export const idOfNamedThread = (tenant: string, name: string): string =>
  `thr_${createHash('sha1').update(`${tenant}\n${name}`).digest('hex').slice(0, 32)}`;
