/**
 * Forks: a new thread with the conversation of another one up to the end of a run, and the files as they were then.
 *
 * The transcript is copied under another session id, since the Agent SDK writes to the one that it resumes. It is staged in
 * keys that expire, and the script that creates the thread takes them over.
 */
import { AppError, type ForkThread, jsonOf, newThreadId, runUuidOf, type Thread } from '@harness/contracts';
import type { Redis } from 'ioredis';
import { type QuotaInScript, type QuotaRefusal, quotaError } from '../quota/quota.ts';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import type { Hash } from '../redis/records.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';
import type { Sender } from './sender.ts';

const lua = scriptsBeside(import.meta.url, { confirmed: ['create-thread'] });

/** The thread to fork, by its own id. */
export interface ForkSource {
  tenant: string;
  ownId: string;
  thread: Thread;
}

/** Creates the fork and returns the id by which `threads.get` finds it. */
export type MakeFork = (source: ForkSource, wish: ForkThread, sender?: Sender) => Promise<string>;

/** Staged keys of a fork that is never created expire after this time, ms. */
const stagedMs = 600_000;
/** Transcript entries that are read and written at once. */
const together = 200;

/** Settings of a thread that its fork has, too. */
const inherited = ['model', 'agent', 'skill', 'metadata', 'systemPrompt', 'allowedTools', 'workspace'];

/** Throws what `threads.fork` throws. */
export function createForking(deps: {
  redis: Redis;
  keys: Keys;
  scripts: Scripts;
  quotaOf: QuotaInScript;
}): MakeFork {
  const { redis, keys, scripts, quotaOf } = deps;
  const hashOf = (kind: string, id: string): Promise<Hash> => reached(redis.hgetall(keys.of(kind, id)));

  /** The last run of the fork, and the ids of those after it. */
  const cutOf = async (ownId: string, thread: Hash, atRunId: string | undefined) => {
    const runs = keys.of('runs', ownId);
    const run = atRunId === undefined ? undefined : await hashOf('run', atRunId);
    if (run && run.threadId !== ownId)
      throw new AppError(
        'run_not_found',
        `There is no run ${atRunId} on this thread. GET /v1/threads/{threadId}/runs lists its runs.`,
      );
    const done = Number(thread.done ?? 0);
    const seq = Number(run?.seq ?? done);
    if (seq > done)
      throw new AppError('wrong_state', `Run ${atRunId} has not ended. Fork at an earlier run, or wait.`);
    return { run, later: await reached(redis.zrangebyscore(runs, `(${seq}`, '+inf')) };
  };

  return async ({ tenant, ownId, thread: shown }, { atRunId, threadId }, sender) => {
    const thread = await hashOf('th', ownId);
    const { run, later } = await cutOf(ownId, thread, atRunId);
    const staged = newThreadId();
    const transcript = thread.sdkSessionId && (await stage(deps, { ownId, thread, staged, later }));
    const fields: Hash = { tenant, forkedFrom: jsonOf({ threadId: shown.threadId, runId: atRunId ?? null }) };
    for (const name of inherited) if (thread[name] !== undefined) fields[name] = thread[name];
    // An open run may have been handed back with files that its conversation explains, which the fork has not.
    const files = run ? run.files : (thread.filesBefore ?? thread.files);
    if (files) fields.files = files;
    if (later.length === 0 && thread.filesLost !== undefined) fields.filesLost = thread.filesLost;
    if (transcript) Object.assign(fields, transcript.fields);
    const made = await scripts.call<
      { outcome: 'created' | 'exists' } | ({ outcome: 'quota' } & QuotaRefusal)
    >(lua['create-thread'], {
      threadId: threadId ?? staged,
      named: threadId !== undefined,
      fields,
      sender,
      quota: quotaOf({ tenant, keyId: sender?.keyId }),
      staged: transcript ? { id: staged, names: transcript.names } : undefined,
    });
    if (made.outcome === 'quota') throw quotaError(made);
    if (made.outcome === 'exists')
      throw new AppError('thread_exists', `Thread ${threadId} already exists. Choose another threadId.`);
    return threadId ?? staged;
  };
}

/**
 * Copies the transcripts of a thread's session, up to the first message of a later run. Throws `wrong_state` when Redis has
 * not all of it.
 */
async function stage(
  { redis, keys }: { redis: Redis; keys: Keys },
  { ownId, thread, staged, later }: { ownId: string; thread: Hash; staged: string; later: string[] },
): Promise<{ names: string[]; fields: Hash }> {
  const { sdkSessionId: from = '', transcript } = thread;
  if (transcript !== undefined)
    throw new AppError(
      'wrong_state',
      transcript === 'full'
        ? 'The conversation of this thread exceeds the size that is stored, so it cannot be forked. Create a new thread.'
        : 'The conversation of this thread is not stored completely yet. Fork it again in a moment.',
    );
  const sdkSessionId = crypto.randomUUID();
  const laterPrompts = new Set(later.map(runUuidOf));
  const names: string[] = [];
  let bytes = 0;
  for (const name of await reached(redis.smembers(keys.of('sess', ownId)))) {
    if (name !== from && !name.startsWith(`${from}/`)) continue;
    const lines = await linesOf(redis, keys.of('sess', `${ownId}:${name}`));
    const kept = cut(lines, laterPrompts).map((entry) => ({ ...entry, sessionId: sdkSessionId }));
    if (kept.length === 0) continue;
    const copy = sdkSessionId + name.slice(from.length);
    names.push(copy);
    const list = keys.of('sess', `${staged}:${copy}`);
    for (let at = 0; at < kept.length; at += together) {
      const page = kept.slice(at, at + together);
      const texts = page.map((entry) => jsonOf(entry));
      const uuids = page.flatMap(({ uuid }) => (uuid === undefined ? [] : [uuid]));
      const writing = redis
        .multi()
        .rpush(list, ...texts)
        .pexpire(list, stagedMs);
      if (uuids.length > 0) writing.sadd(`${list}:uuids`, ...uuids).pexpire(`${list}:uuids`, stagedMs);
      await reached(writing.exec());
      bytes += texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    }
  }
  return { names, fields: names.length === 0 ? {} : { sdkSessionId, transcriptBytes: String(bytes) } };
}

interface Entry {
  uuid?: string;
  sessionId?: string;
}

async function linesOf(redis: Redis, list: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let at = 0; ; at += together) {
    const lines = await reached(redis.lrange(list, at, at + together - 1));
    for (const line of lines) entries.push(JSON.parse(line) as Entry);
    if (lines.length < together) return entries;
  }
}

/**
 * The entries before the first prompt of a later run. Entries without a uuid that directly precede a prompt belong to it.
 */
function cut(entries: Entry[], laterPrompts: ReadonlySet<string>): Entry[] {
  const end = entries.findIndex(({ uuid }) => uuid !== undefined && laterPrompts.has(uuid));
  if (end < 0) return entries;
  const last = entries.slice(0, end).findLastIndex(({ uuid }) => uuid !== undefined);
  return entries.slice(0, last + 1);
}
