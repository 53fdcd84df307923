import { AppError, type CreateRun, jsonOf, newRunId, type Run } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Losses } from '../fail-over/losses.ts';
import type { Doorbell } from '../lease/doorbell.ts';
import { digestOf, sha256 } from '../redis/digest.ts';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import { type Hash, runOf } from '../redis/records.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { confirmed: ['append', 'cancel-run'] });

export interface NewMessage {
  tenant: string;
  threadId: string;
  request: CreateRun;
  idempotencyKey: string;
  callerTools?: readonly string[] | undefined;
}

export interface Runs {
  /**
   * Accepts a message, exactly once per idempotency key (24 h). `created` is false for a repeat. Its run has no tools but
   * `callerTools`, where these are given.
   * Throws thread_not_found, idempotency_conflict, run_in_progress (strategy reject), mailbox_full, unavailable.
   */
  append(message: NewMessage): Promise<{ run: Run; created: boolean }>;
  get(tenant: string, threadId: string, runId: string): Promise<Run>;
  /** Newest first; by the thread's own id. */
  list(ownId: string, page: { limit: number; offset: number }): Promise<Run[]>;
  /** Finished messages and their answers, oldest first: what the conversation was. By the thread's own id. */
  history(ownId: string, limit: number): Promise<{ role: 'user' | 'assistant'; text: string }[]>;
  /** The event id at which the run was accepted: where its stream begins. */
  firstEventOf(runId: string): Promise<string>;
  /** A waiting run reads `cancelled` at once; a running one ends soon. Ended runs stay as they are. */
  cancel(tenant: string, threadId: string, runId: string): Promise<Run>;
}

interface Appended {
  outcome: 'accepted' | 'known' | 'conflict' | 'not_found' | 'in_progress' | 'full';
  run?: Hash;
  runId?: string;
  owner?: string;
  rung?: boolean;
  waiting?: number;
}

export function createRuns(deps: {
  redis: Redis;
  keys: Keys;
  scripts: Scripts;
  doorbell: Doorbell;
  losses: Losses;
}): Runs {
  const { redis, keys, scripts, doorbell, losses } = deps;
  const hashOf = (runId: string): Promise<Hash> => reached(redis.hgetall(keys.of('run', runId)));
  const notFound = (runId: string) => new AppError('run_not_found', `There is no run ${runId}.`);

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
    async append({ tenant, threadId, request, idempotencyKey, callerTools }) {
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
          tools: callerTools && jsonOf(callerTools),
        },
      });
      if (!answer.run) throw refusalOf(answer, threadId);
      const { threadId: ownId = threadId, runId = '' } = answer.run;
      losses.accepted(ownId, runId);
      // Rung for a repeat too: the first answer may have been lost before its doorbell.
      if (!answer.rung) void doorbell.ring(ownId, answer.owner);
      return { run: runOf(answer.run), created: answer.outcome === 'accepted' };
    },
    async list(threadId, page) {
      return (await latest(threadId, page)).map(runOf);
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
    case 'conflict':
      return new AppError('idempotency_conflict', 'This Idempotency-Key was used with another request.');
    case 'in_progress': {
      const streamUrl = `/v1/threads/${threadId}/runs/${answer.runId}/stream`;
      const details = { runId: answer.runId, streamUrl };
      return new AppError('run_in_progress', 'A run is under way on this thread.', { details });
    }
    case 'full':
      return new AppError(
        'mailbox_full',
        `${answer.waiting} messages are waiting on this thread; send again later.`,
      );
    default:
      return new AppError('thread_not_found', `There is no thread ${threadId}.`);
  }
}
