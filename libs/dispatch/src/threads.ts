import { AppError, type CreateThread, newThreadId, type Thread } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Keys } from './keys.ts';
import { type Hash, threadOf } from './records.ts';
import { reached, type Scripts } from './scripts.ts';

export interface Threads {
  /** `created` is false when `ifExists: doNothing` found one. Throws `thread_exists`. */
  create(tenant: string, request: CreateThread): Promise<{ thread: Thread; created: boolean }>;
  /** Throws `thread_not_found` for an unknown thread and for another tenant's alike. */
  get(tenant: string, threadId: string): Promise<Thread>;
  /** Newest first. */
  list(tenant: string, page: { limit: number; offset: number }): Promise<Thread[]>;
  /** Deletes it and every thread below it. */
  delete(tenant: string, threadId: string): Promise<void>;
}

const notFound = (threadId: string) => new AppError('thread_not_found', `There is no thread ${threadId}.`);

export function createThreads(deps: { redis: Redis; keys: Keys; scripts: Scripts }): Threads {
  const { redis, keys, scripts } = deps;
  const find = async (tenant: string, threadId: string): Promise<Thread | undefined> => {
    const hash: Hash = await reached(redis.hgetall(keys.of('th', threadId)));
    return hash.tenant === tenant ? threadOf(threadId, hash) : undefined;
  };
  const get = async (tenant: string, threadId: string) => {
    const thread = await find(tenant, threadId);
    if (!thread) throw notFound(threadId);
    return thread;
  };
  return {
    get,
    async create(tenant, request) {
      const { threadId = newThreadId(), ifExists = 'raise', metadata, allowedTools, ...plain } = request;
      const fields = {
        tenant,
        ...plain,
        ...(metadata && { metadata: JSON.stringify(metadata) }),
        ...(allowedTools && { allowedTools: JSON.stringify(allowedTools) }),
      };
      const made = await scripts.call<{ outcome: string; tenant?: string }>('create-thread', {
        threadId,
        fields,
      });
      const ours = made.outcome === 'created' || made.tenant === tenant;
      if (!ours || (made.outcome === 'exists' && ifExists === 'raise')) {
        throw new AppError('thread_exists', `Thread ${threadId} exists.`);
      }
      return { thread: await get(tenant, threadId), created: made.outcome === 'created' };
    },
    async list(tenant, { limit, offset }) {
      const ids = await reached(redis.zrevrange(keys.of('ths', tenant), offset, offset + limit - 1));
      const threads = await Promise.all(ids.map((id) => find(tenant, id)));
      return threads.filter((thread) => thread !== undefined);
    },
    async delete(tenant, threadId) {
      const { outcome } = await scripts.call<{ outcome: string }>('delete-thread', { tenant, threadId });
      if (outcome === 'not_found') throw notFound(threadId);
    },
  };
}
