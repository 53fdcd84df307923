import { createHmac, randomUUID } from 'node:crypto';

/** Ids are prefixed and random: `thr_`, `run_`, `task_`, `wrk_` + 32 hex digits. */
const hex = (uuid: string) => uuid.replaceAll('-', '');

export const newThreadId = () => `thr_${hex(randomUUID())}`;
export const newRunId = () => `run_${hex(randomUUID())}`;
export const newTaskId = () => `task_${hex(randomUUID())}`;
export const newWorkerId = () => `wrk_${hex(randomUUID())}`;

/** What a caller may name a thread; `.` and `..` would be lost in a URL. The ids that we make fit, too. */
export const threadIdPattern = '^(?!\\.\\.?$)[A-Za-z0-9._:-]{1,128}$';
/** Of a thread's own id, which we make. */
export const ownThreadIdPattern = '^thr_[0-9a-f]{32}$';
export const runIdPattern = '^run_[0-9a-f]{32}$';
export const taskIdPattern = '^task_[0-9a-f]{32}$';

/** The UUIDv4 that a run id is made of; the Agent SDK carries it as the message's `uuid`. */
export function runUuidOf(runId: string): string {
  const digits = runId.slice('run_'.length);
  return [0, 8, 12, 16, 20].map((at, i, cuts) => digits.slice(at, cuts[i + 1])).join('-');
}

/**
 * A thread id that depends on `parts` alone, for those who name a conversation by a key of their own. Keyed with the
 * fleet's token secret it is as random to callers as any, so that none can name a thread so by chance or on purpose.
 * Another secret leads to other threads. What is hashed starts with a bracket, as no token's signed part does: neither
 * use of the secret can pass for the other.
 */
export function derivedThreadId(secret: string, ...parts: [kind: string, ...string[]]): string {
  return `thr_${createHmac('sha256', secret).update(JSON.stringify(parts)).digest('hex').slice(0, 32)}`;
}

/** The thread of a caller that names none: one per key. */
export const defaultThreadIdOf = (secret: string, principal: { tenant: string; keyId: string }): string =>
  derivedThreadId(secret, 'default', principal.tenant, principal.keyId);
