import { createHmac, randomUUID } from 'node:crypto';

/** Ids are random: `thr_`, `run_`, `task_` or `wrk_`, and 32 hex digits of a UUIDv4. */
const hex = (uuid: string) => uuid.replaceAll('-', '');

/** A new own id of a thread. */
export const newThreadId = () => `thr_${hex(randomUUID())}`;
/** A new run id. */
export const newRunId = () => `run_${hex(randomUUID())}`;
/** A new id of a delegated task. */
export const newTaskId = () => `task_${hex(randomUUID())}`;
/** A new worker id. */
export const newWorkerId = () => `wrk_${hex(randomUUID())}`;

/** Ids by which a caller may name a thread; `.` and `..` would be lost in a URL. Own ids match it, too. */
export const threadIdPattern = '^(?!\\.\\.?$)[A-Za-z0-9._:-]{1,128}$';
/** A thread's own id, which the system makes. */
export const ownThreadIdPattern = '^thr_[0-9a-f]{32}$';
/** A run id. */
export const runIdPattern = '^run_[0-9a-f]{32}$';
/** The id of a delegated task. */
export const taskIdPattern = '^task_[0-9a-f]{32}$';

/** The UUIDv4 in a run id; the Agent SDK uses it as the message's `uuid`. */
export function runUuidOf(runId: string): string {
  const digits = runId.slice('run_'.length);
  return [0, 8, 12, 16, 20].map((at, i, cuts) => digits.slice(at, cuts[i + 1])).join('-');
}

/**
 * A thread id that depends only on `parts` and the secret, for callers that identify a conversation by a key
 * of their own. It is an HMAC with the installation's naming secret, so a caller can neither guess nor choose
 * it; another secret gives other threads. The hashed text starts with a bracket, which the signed part of a
 * token never does, so neither use of a secret can pass for the other.
 */
export function derivedThreadId(secret: string, ...parts: [kind: string, ...string[]]): string {
  return `thr_${createHmac('sha256', secret).update(JSON.stringify(parts)).digest('hex').slice(0, 32)}`;
}

/** The thread of a caller that names none: one per API key. */
export const defaultThreadIdOf = (secret: string, principal: { tenant: string; keyId: string }): string =>
  derivedThreadId(secret, 'default', principal.tenant, principal.keyId);
