import { createHmac, randomUUID } from 'node:crypto';

/** Ids are prefixed and random: `thr_`, `run_`, `task_`, `wrk_` + 32 hex digits. */
const hex = (uuid: string) => uuid.replaceAll('-', '');

export const newThreadId = () => `thr_${hex(randomUUID())}`;
export const newRunId = () => `run_${hex(randomUUID())}`;
export const newTaskId = () => `task_${hex(randomUUID())}`;
export const newWorkerId = () => `wrk_${hex(randomUUID())}`;

export const threadIdPattern = '^thr_[0-9a-f]{32}$';
export const runIdPattern = '^run_[0-9a-f]{32}$';
export const taskIdPattern = '^task_[0-9a-f]{32}$';

/** The UUIDv4 that a run id is made of; the Agent SDK carries it as the message's `uuid`. */
export function runUuidOf(runId: string): string {
  const digits = runId.slice('run_'.length);
  return [0, 8, 12, 16, 20].map((at, i, cuts) => digits.slice(at, cuts[i + 1])).join('-');
}

/**
 * A thread id that depends on `parts` alone, for those who name a conversation by a key of their own. Thread ids are one
 * space for all tenants, and callers may choose theirs: keyed with the fleet's token secret, a derived one is as random
 * to them as any, so that no tenant can take another's first. Another secret leads to other threads. What is hashed
 * starts with a bracket, as no token's signed part does: neither use of the secret can pass for the other.
 */
export function derivedThreadId(secret: string, ...parts: [kind: string, ...string[]]): string {
  return `thr_${createHmac('sha256', secret).update(JSON.stringify(parts)).digest('hex').slice(0, 32)}`;
}

/** The thread of a caller that names none: one per key. */
export const defaultThreadIdOf = (secret: string, principal: { tenant: string; keyId: string }): string =>
  derivedThreadId(secret, 'default', principal.tenant, principal.keyId);
