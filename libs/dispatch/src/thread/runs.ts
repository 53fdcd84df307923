import { AppError, type CreateRun, jsonOf, newRunId, type Run } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Losses } from '../fail-over/losses.ts';
import type { RefuseWorkspace } from '../files/workspace-refusal.ts';
import type { Doorbell } from '../lease/doorbell.ts';
import { type QuotaInScript, type QuotaRefusal, quotaError } from '../quota/quota.ts';
import { digestOf, sha256 } from '../redis/digest.ts';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import { type Hash, runOf } from '../redis/records.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';
import type { Sender } from './sender.ts';
import { threadNotFound } from './thread-id.ts';

const lua = scriptsBeside(import.meta.url, { confirmed: ['append', 'cancel-run'] });

/** A message to be accepted. */
export interface NewMessage {
  tenant: string;
  threadId: string;
  request: CreateRun;
  idempotencyKey: string;
  /** Digest of a manifest of the files that come with it, already stored. */
  filesIn?: string | undefined;
  /** Who sends it; absent = the host itself, without bounds. */
  sender?: Sender | undefined;
}

/** Messages of threads and their runs. */
export interface Runs {
  /**
   * Accepts a message, once per idempotency key (remembered for 24 h by default). `created` is false for a
   * repeat.
   * Throws thread_not_found, idempotency_conflict, run_in_progress (strategy reject), mailbox_full,
   * limit_reached, workspace_refused, unavailable.
   */
  append(message: NewMessage): Promise<{ run: Run; created: boolean }>;
  /** Throws run_not_found, also for a run of another thread or tenant. */
  get(tenant: string, threadId: string, runId: string): Promise<Run>;
  /** Runs of a thread (by its own id), newest first. `input`: with the texts of their messages. */
  list(ownId: string, page: { limit: number; offset: number; input?: boolean }): Promise<Run[]>;
  /**
   * The conversation so far: successful runs except reviews, as pairs of input and result, oldest first; of
   * the latest `limit` runs. By the thread's own id.
   */
  history(ownId: string, limit: number): Promise<{ role: 'user' | 'assistant'; text: string }[]>;
  /** The id of the event that records the acceptance of the run, where its stream begins; '0' if unknown. */
  firstEventOf(runId: string): Promise<string>;
  /**
   * Cancels a run. A waiting run reads `cancelled` at once; a running one ends soon; an ended one stays as it
   * is. Throws run_not_found.
   */
  cancel(tenant: string, threadId: string, runId: string): Promise<Run>;
}

interface Appended {
  outcome: 'accepted' | 'known' | 'conflict' | 'not_found' | 'in_progress' | 'full' | 'quota';
  run?: Hash;
  runId?: string;
  owner?: string;
  rung?: boolean;
  waiting?: number;
}

/** `losses` remembers accepted messages, to find those that a fail-over takes back. */
export function createRuns(deps: {
  redis: Redis;
  keys: Keys;
  scripts: Scripts;
  doorbell: Doorbell;
  losses: Losses;
  quotaOf: QuotaInScript;
  refuseWorkspace: RefuseWorkspace;
  traceNow(): string | undefined;
}): Runs {
  const { refuseWorkspace, quotaOf, redis, keys, scripts, doorbell, losses, traceNow } = deps;
  const hashOf = (runId: string): Promise<Hash> => reached(redis.hgetall(keys.of('run', runId)));
  const notFound = (runId: string) =>
    new AppError(
      'run_not_found',
      `There is no run ${runId} on this thread. Check both ids: GET /v1/threads/{threadId}/runs lists the runs.`,
    );

  const get = async (tenant: string, threadId: string, runId: string) => {
    const hash = await hashOf(runId);
    const isOfThread = hash.threadId === threadId || hash.alias === threadId;
    if (hash.tenant !== tenant || !isOfThread) throw notFound(runId);
    return runOf(hash);
  };
  const latest = async (
    threadId: string,
    { limit, offset }: { limit: number; offset: number },
  ): Promise<Hash[]> => {
    const ids = await reached(redis.zrevrange(keys.of('runs', threadId), offset, offset + limit - 1));
    const hashes = await Promise.all(ids.map(hashOf));
    return hashes.filter((hash) => hash.runId !== undefined);
  };

  return {
    get,
    async append({ tenant, threadId, request, idempotencyKey, filesIn, sender }) {
      await refuseWorkspace(filesIn !== undefined);
      const { input, model, metadata } = request;
      const answer = await scripts.call<Appended>(lua.append, {
        tenant,
        threadId,
        idemHash: sha256(idempotencyKey),
        bodyHash: digestOf({ threadId, request }),
        strategy: request.multitaskStrategy ?? 'enqueue',
        mail: {
          runId: newRunId(),
          kind: 'message',
          input,
          model,
          metadata: metadata && jsonOf(metadata),
          keyId: sender?.keyId,
          scopes: sender?.scopes && jsonOf(sender.scopes),
          tools: sender?.tools && jsonOf(sender.tools),
          rightsUntil: sender?.rightsUntil,
          trace: traceNow(),
          filesIn,
        },
        quota: quotaOf({ tenant, keyId: sender?.keyId }),
      });
      if (!answer.run) throw refusalOf(answer, threadId);
      const { threadId: ownId = threadId, runId = '' } = answer.run;
      losses.accepted(ownId, runId);
      // A repeat rings, too: the process may have died after accepting and before ringing.
      if (!answer.rung) void doorbell.ring(ownId, answer.owner);
      return { run: runOf(answer.run), created: answer.outcome === 'accepted' };
    },
    async list(threadId, page) {
      return (await latest(threadId, page)).map((hash) => runOf(hash, page.input));
    },
    async history(threadId, limit) {
      const turns = (await latest(threadId, { limit, offset: 0 })).reverse();
      return turns
        .filter((hash) => hash.status === 'success' && hash.kind !== 'review')
        .flatMap((hash) => [
          { role: 'user' as const, text: hash.input ?? '' },
          { role: 'assistant' as const, text: hash.result ?? '' },
        ]);
    },
    async firstEventOf(runId) {
      return (await reached(redis.hget(keys.of('run', runId), 'eventId'))) ?? '0';
    },
    async cancel(tenant, threadId, runId) {
      const answer = await scripts.call<{ outcome: string; threadId?: string; owner?: string }>(
        lua['cancel-run'],
        {
          tenant,
          threadId,
          runId,
        },
      );
      if (answer.outcome === 'not_found') throw notFound(runId);
      if (answer.threadId) void doorbell.ring(answer.threadId, answer.owner);
      return get(tenant, threadId, runId);
    },
  };
}

function refusalOf(answer: Appended, threadId: string): AppError {
  switch (answer.outcome) {
    case 'quota':
      return quotaError(answer as unknown as QuotaRefusal);
    case 'conflict':
      return new AppError(
        'idempotency_conflict',
        'This Idempotency-Key was used with another request. Use a new key for a new request.',
      );
    case 'in_progress': {
      const streamUrl = `/v1/threads/${threadId}/runs/${answer.runId}/stream`;
      const details = { runId: answer.runId, streamUrl };
      return new AppError(
        'run_in_progress',
        'A run is in progress on this thread. Wait for it to end, or send with another multitaskStrategy.',
        { details },
      );
    }
    case 'full':
      return new AppError(
        'mailbox_full',
        `${answer.waiting} messages are waiting on this thread, its maximum; send again later.`,
      );
    default:
      return threadNotFound(threadId);
  }
}
