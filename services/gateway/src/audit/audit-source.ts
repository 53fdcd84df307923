import { AsyncLocalStorage } from 'node:async_hooks';

/** The request to which the audit attributes a change, a call or a refusal. */
export interface AuditSource {
  address: string | null;
  requestId: string;
  /** Whether its record is written: a refusal or change is recorded once, by the code that knows most about it. */
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
