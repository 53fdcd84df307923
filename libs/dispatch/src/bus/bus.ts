/**
 * The bus: tasks that external workers, on any machine, poll for, acknowledge and report on. Each tenant has
 * one. bus.lua draws its states and moves; every move is one script. This file turns refusals of scripts into
 * errors.
 *
 * This folder:
 *   bus.lua         states, moves and invariants (shared definitions)
 *   bus-contract.ts the interface of the bus
 *   bus-records.ts  hashes as resources
 *   bus-sweeper.ts  runs bus-sweep.lua periodically
 *   bus-submit.lua, bus-done.lua, bus-failed.lua, bus-retry.lua  moves of tasks
 *   bus-status.lua, bus-count.lua, bus-sweep.lua                 counts and sweep
 *   workers/bus-polls.ts  polls that wait at this gateway
 *   workers/*.lua         moves of workers: register, poll, ack, heartbeat, leave, reset
 */
import {
  AppError,
  type BusStats,
  type BusTaskState,
  type BusWorkerState,
  isDeeperThan,
  jsonOf,
  maxBusBytes,
  maxBusDepth,
} from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Replicas } from '../gateway/replicas.ts';
import type { Doorbell } from '../lease/doorbell.ts';
import { digestOf } from '../redis/digest.ts';
import type { Keys } from '../redis/keys.ts';
import type { Log } from '../redis/log.ts';
import { reached } from '../redis/reached.ts';
import type { Hash } from '../redis/records.ts';
import { listOf, type Scripts, scriptsBeside } from '../redis/scripts.ts';
import type { Bus, BusHold, Page } from './bus-contract.ts';
import { busTaskDetailOf, busTaskOf, busWorkerOf, labelsOf, labelsTextOf } from './bus-records.ts';
import { createBusPolls, workerScripts } from './workers/bus-polls.ts';

const lua = scriptsBeside(import.meta.url, {
  confirmed: ['bus-submit', 'bus-done', 'bus-failed', 'bus-retry'],
  unconfirmed: ['bus-status', 'bus-count', 'bus-sweep'],
});

/** Ids that the bus gives to the work of delegated tasks. */
const reserved = /^task_[0-9a-f]{32}\./;
const sweepCount = 200;

interface Answer {
  outcome: string;
  state?: string;
  before?: string;
  taskId?: string;
  deadline?: number;
  existing?: boolean;
  final?: boolean;
  limit?: number;
  rung?: Ring;
}
type Ring = { threadId: string; owner?: string };

/** Waiting polls are kept in the memory of this process. */
export function createBus(deps: {
  redis: Redis;
  keys: Keys;
  scripts: Scripts;
  replicas: Replicas;
  doorbell: Doorbell;
  logger: Log;
}): Bus {
  const { redis, keys, scripts, doorbell } = deps;
  const polls = createBusPolls(deps);
  const taskKey = (tenant: string, taskId: string) => keys.of('bt', `${tenant}:${taskId}`);
  const ring = (one: Ring | undefined) => one && void doorbell.ring(one.threadId, one.owner, 'review');

  /** Runs one move of a task. Throws the script's refusal as an error. */
  const move = async <Args extends BusHold>(script: Parameters<Scripts['call']>[0], args: Args) => {
    const answer = await scripts.call<Answer>(script, args);
    if (answer.outcome !== 'ok') throw refusalOf(answer, args.taskId);
    ring(answer.rung);
    return answer;
  };
  const deadlineIn = ({ deadline }: Answer) => ({ deadline: new Date(deadline ?? 0).toISOString() });
  const stats = async (tenant: string): Promise<BusStats> => {
    const { counts, workers, polling, oldestQueuedAt } = await scripts.call<{
      counts: Record<BusTaskState, number>;
      workers: number;
      polling: number;
      oldestQueuedAt?: number;
    }>(lua['bus-status'], { tenant });
    return {
      depth: counts.queued,
      assigned: counts.assigned,
      inProgress: counts.in_progress,
      oldestQueuedAt: oldestQueuedAt === undefined ? null : new Date(oldestQueuedAt).toISOString(),
      workersPolling: polling,
      dead: counts.dead,
      blocked: counts.blocked,
      done: counts.done,
      workers,
    };
  };
  const page = (list: string, { limit, offset }: Page) =>
    reached(redis.zrevrange(list, offset, offset + limit - 1));
  const hashesOf = async (names: string[]): Promise<Hash[]> => {
    const hashes = await Promise.all(names.map((name) => reached(redis.hgetall(name))));
    return hashes.filter((hash) => hash.state !== undefined);
  };

  return {
    async submit({ tenant, taskId, payload, priority = 0, requires = [] }) {
      if (reserved.test(taskId)) {
        throw new AppError('invalid_request', `Ids like "${taskId}" are reserved for delegated tasks.`);
      }
      const answer = await scripts.call<Answer>(lua['bus-submit'], {
        tenant,
        taskId,
        payload: jsonTextOf(payload, 'payload'),
        priority,
        requires: labelsTextOf(requires),
      });
      if (answer.outcome === 'full') {
        throw new AppError(
          'bus_full',
          `The bus holds ${answer.limit} unfinished tasks, its maximum. Wait, or retry the blocked and dead ones.`,
        );
      }
      return { state: answer.state as BusTaskState, existing: answer.outcome === 'existing' };
    },
    async register({ tenant, name, labels = [] }) {
      const text = labelsTextOf(labels);
      const answer = await scripts.call<Answer>(workerScripts['bus-register'], {
        tenant,
        name,
        labels: text,
      });
      if (answer.outcome === 'full') {
        throw new AppError('bus_full', `The bus has ${answer.limit} workers, its maximum; try again later.`);
      }
      return { state: answer.state as BusWorkerState, labels: labelsOf(text) };
    },
    poll: polls.poll,
    ack: async (hold) => deadlineIn(await move(workerScripts['bus-ack'], hold)),
    heartbeat: async (hold) => deadlineIn(await move(workerScripts['bus-heartbeat'], hold)),
    async done(hold, result) {
      const text = jsonTextOf(result, 'result');
      const words = typeof result === 'string' ? result : (text ?? '');
      const { existing } = await move(lua['bus-done'], {
        ...hold,
        result: text,
        digest: digestOf(result),
        text: words.toWellFormed(),
      });
      return { existing: existing === true };
    },
    async failed(hold, reason) {
      const { existing, final } = await move(lua['bus-failed'], { ...hold, reason: reason.toWellFormed() });
      return { existing: existing === true, final: final === true };
    },
    async reset(tenant, name) {
      const answer = await scripts.call<Answer>(workerScripts['bus-reset'], { tenant, name });
      if (answer.outcome !== 'ok') throw new AppError('worker_not_found', `There is no worker "${name}".`);
      return { before: answer.before as BusWorkerState, taskId: answer.taskId ?? null };
    },
    async retry(tenant, taskId) {
      const { before } = await move(lua['bus-retry'], { tenant, taskId });
      const state = await reached(redis.hget(taskKey(tenant, taskId), 'state'));
      return { before: before as BusTaskState, state: (state ?? 'queued') as BusTaskState };
    },
    stats,
    async totals() {
      const read = () => reached(redis.hgetall(keys.one('bcounts')));
      let sums = await read();
      if (sums.workers === undefined) {
        await scripts.call(lua['bus-count'], {});
        sums = await read();
      }
      const of = (name: string) => Number(sums[name] ?? 0);
      return {
        queued: of('queued'),
        assigned: of('assigned'),
        inProgress: of('in_progress'),
        blocked: of('blocked'),
        dead: of('dead'),
        workers: of('workers'),
        workersPolling: of('polling'),
      };
    },
    async get(tenant, taskId) {
      const [hash] = await hashesOf([taskKey(tenant, taskId)]);
      if (!hash) throw notFound(taskId);
      return busTaskDetailOf(hash);
    },
    async tasks(tenant, { state, ...rest }) {
      const list = state ? keys.of('bst', `${tenant}:${state}`) : keys.of('bts', tenant);
      const ids = await page(list, rest);
      return (await hashesOf(ids.map((id) => taskKey(tenant, id)))).map(busTaskOf);
    },
    async workers(tenant, rest) {
      const names = await page(keys.of('bws', tenant), rest);
      return (await hashesOf(names.map((name) => keys.of('bw', `${tenant}:${name}`)))).map(busWorkerOf);
    },
    async sweep(tidy = false) {
      for (let more = true; more; ) {
        const found = await scripts.call<{ rung: Ring[]; more: boolean }>(lua['bus-sweep'], {
          count: sweepCount,
          tidy,
        });
        for (const one of listOf(found.rung)) ring(one);
        more = found.more;
      }
    },
    endPolls: polls.end,
    close: polls.close,
  };
}

const notFound = (taskId: string) =>
  new AppError('task_not_found', `There is no task "${taskId}" on the bus.`);

/** A value as JSON text; undefined stays undefined. Throws invalid_request and body_too_large. */
function jsonTextOf(value: unknown, what: string): string | undefined {
  if (isDeeperThan(maxBusDepth, value)) {
    throw new AppError('invalid_request', `The ${what} is nested deeper than ${maxBusDepth} levels.`);
  }
  const text = jsonOf(value);
  if (text !== undefined && Buffer.byteLength(text) > maxBusBytes) {
    throw new AppError('body_too_large', `The ${what} has more than ${maxBusBytes} bytes of JSON.`);
  }
  return text;
}

function refusalOf({ outcome, state }: Answer, taskId: string): AppError {
  switch (outcome) {
    case 'not_found':
      return notFound(taskId);
    case 'lease_lost':
      return new AppError(
        'lease_lost',
        `The task "${taskId}" is no longer yours: it was taken back, and this call changed nothing. Poll for another task.`,
      );
    case 'lease_required':
      return new AppError(
        'lease_required',
        `The task "${taskId}" was assigned more than once: send your name, or the lease that poll_task returned with it.`,
      );
    case 'conflict':
      return new AppError(
        'result_conflict',
        `The task "${taskId}" already has another result, which stays; this one was not stored.`,
      );
    case 'ended':
      return new AppError(
        'wrong_state',
        `The delegated task that "${taskId}" was work for has failed with it. Delegate it again.`,
      );
    default:
      return new AppError('wrong_state', `The task "${taskId}" is ${state}: ${adviceOf(state)}`, {
        details: { state },
      });
  }
}

/** What can be done in a state, for a caller that tried something else. */
function adviceOf(state: string | undefined): string {
  const advice: Record<string, string> = {
    queued: 'it waits for a worker to poll it.',
    assigned: 'its worker must acknowledge it first, with ack_task.',
    in_progress: 'its worker may end it with worker_done or task_failed.',
    done: 'it has its result, which is final.',
    blocked: 'it waits for retry_task.',
    dead: 'its assignment was lost too often, and it waits for retry_task.',
    withdrawn: 'its delegated task was cancelled.',
  };
  return advice[state ?? ''] ?? 'that is not possible now.';
}
