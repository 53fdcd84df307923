import { createHash } from 'node:crypto';

/**
 * A caller may name a thread itself: the thread's own id is then made from tenant and name, so that the same name is
 * another thread for each tenant. Same in lua/prelude.lua.
 */
export const idOfNamedThread = (tenant: string, name: string): string =>
  `thr_${createHash('sha1').update(`${tenant}\n${name}`).digest('hex').slice(0, 32)}`;
