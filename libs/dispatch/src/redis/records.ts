/** Redis hashes as resources of the API. Times are milliseconds in Redis and ISO 8601 in resources. */
import type { ErrorBody, FileChanges, Run, Task, Thread, Timings, Usage } from '@harness/contracts';

/** A Redis hash, as HGETALL returns it. */
export type Hash = Record<string, string>;

const isoOf = (ms: string) => new Date(Number(ms)).toISOString();
const jsonOf = <T>(text: string | undefined): T | null =>
  text === undefined ? null : (JSON.parse(text) as T);

const stateOf: Record<string, Thread['state']> = {
  error: 'error',
  timeout: 'error',
  interrupted: 'interrupted',
  cancelled: 'interrupted',
};

/** Whether the creator of a thread asked for a workspace; undefined = left to agent and skill. */
export const workspaceOf = ({ workspace }: Hash): boolean | undefined =>
  workspace === undefined ? undefined : workspace === '1';

/**
 * A thread from its hash. `ownId`: the thread's own id; the resource shows the id that the caller chose, if
 * any.
 */
export function threadOf(ownId: string, hash: Hash): Thread {
  const busy = Number(hash.last ?? 0) > Number(hash.done ?? 0);
  return {
    threadId: hash.alias ?? ownId,
    parentThreadId: hash.parentAlias ?? hash.parentThreadId ?? null,
    state: busy ? 'busy' : (stateOf[hash.outcome ?? ''] ?? 'idle'),
    model: hash.model ?? null,
    agent: hash.agent ?? null,
    skill: hash.skill ?? null,
    workspace: workspaceOf(hash) ?? null,
    files: hash.files ?? null,
    forkedFrom: jsonOf(hash.forkedFrom),
    metadata: jsonOf(hash.metadata) ?? {},
    createdAt: isoOf(hash.createdAt ?? '0'),
    updatedAt: isoOf(hash.updatedAt ?? '0'),
  };
}

/** A run from its hash; `withInput`: with the text of its message. */
export function runOf(hash: Hash, withInput = false): Run {
  return {
    runId: hash.runId ?? '',
    threadId: hash.alias ?? hash.threadId ?? '',
    seq: Number(hash.seq),
    kind: hash.kind as Run['kind'],
    status: hash.status as Run['status'],
    attempt: Number(hash.attempt),
    path: (hash.path as Run['path']) ?? null,
    ...(withInput && { input: hash.input ?? '' }),
    result: hash.result ?? null,
    error: jsonOf<ErrorBody>(hash.error),
    usage: jsonOf<Usage>(hash.usage),
    timings: jsonOf<Timings>(hash.timings),
    files: hash.files ?? null,
    metadata: jsonOf(hash.metadata) ?? {},
    createdAt: isoOf(hash.createdAt ?? '0'),
    startedAt: hash.startedAt ? isoOf(hash.startedAt) : null,
    endedAt: hash.endedAt ? isoOf(hash.endedAt) : null,
  };
}

/** A delegated task from its hash. */
export function taskOf(hash: Hash): Task {
  return {
    taskId: hash.taskId ?? '',
    threadId: hash.threadId ?? '',
    parentThreadId: hash.parentAlias ?? hash.parentThreadId ?? null,
    model: hash.model ?? null,
    prompt: hash.prompt ?? '',
    target: (hash.target as Task['target']) ?? 'fleet',
    status: hash.status as Task['status'],
    iteration: Number(hash.iteration),
    maxIterations: Number(hash.maxIterations),
    verdict: (hash.verdict as Task['verdict']) ?? null,
    feedback: hash.feedback ?? null,
    result: hash.result ?? null,
    error: jsonOf<ErrorBody>(hash.error),
    files: jsonOf<FileChanges>(hash.changes),
    createdAt: isoOf(hash.createdAt ?? '0'),
    updatedAt: isoOf(hash.updatedAt ?? '0'),
  };
}
