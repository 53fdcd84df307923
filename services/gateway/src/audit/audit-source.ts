import { AsyncLocalStorage } from 'node:async_hooks';

/** The request that the audit attributes what happens to. */
export interface AuditSource {
  address: string | null;
  requestId: string;
  /** Its record is written: a refusal or change is recorded once, where most is known about it. */
  isRecorded?: boolean;
  /** Code of the error with which it failed. */
  error?: string;
}

/** Carries the source through asynchronous calls, at both entrances of /mcp and through REST. */
export const auditSource = new AsyncLocalStorage<AuditSource>();

/** Ids of requests, unique in the fleet: the id of the gateway's process and a number. */
export function createRequestIds(replica: string): () => string {
  let count = 0;
  return () => `${replica}-${(++count).toString(36)}`;
}
