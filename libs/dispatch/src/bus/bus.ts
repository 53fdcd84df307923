/**
 * The bus: tasks that external workers, on any machine, wait for, acknowledge and report on. One for each tenant; its
 * states and moves are drawn in lua/bus.lua, and every move is one script. This file says in words what a script refuses.
 */
import {
  AppError,
  type BusAssignment,
  type BusStats,
  type BusTask,
  type BusTaskDetail,
  type BusTaskState,
  type BusWorker,
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
import { busTaskDetailOf, busTaskOf, busWorkerOf, labelsOf, labelsTextOf } from './bus-records.ts';
import { type BusPoll, createBusPolls, workerScripts } from './workers/bus-polls.ts';

const lua = scriptsBeside(import.meta.url, {
  confirmed: ['bus-submit', 'bus-done', 'bus-failed', 'bus-retry'],
  unconfirmed: ['bus-status', 'bus-count', 'bus-sweep'],
});

export interface Page {
  limit: number;
  offset: number;
}

/**
 * Whose call on which task. The lease names the assignment; without it the worker's name does, and neither is needed
 * while the task was assigned once.
 */
export interface BusHold {
  tenant: string;
  taskId: string;
  name?: string | undefined;
  lease?: string | undefined;
}

/**
 * What goes wrong: task_not_found and worker_not_found; wrong_state, which names the state; lease_lost when the task is
 * somebody else's now; lease_required; result_conflict; bus_full; body_too_large.
 */
export interface Bus {
  /** Once per id: `existing` when it was submitted before, and then nothing changes. */
  submit(task: NewBusTask): Promise<{ state: BusTaskState; existing: boolean }>;
  /** Again: its labels change, and a lost worker is idle. */
  register(worker: { tenant: string; name: string; labels?: readonly string[] | undefined }): Promise<{
    state: BusWorkerState;
    labels: string[];
  }>;
  /** Null when the time is over. Costs Redis nothing while it waits. */
  poll(wish: BusPoll): Promise<BusAssignment | null>;
  /** Gives when the task is taken back unless a heartbeat or the end comes before. */
  ack(hold: BusHold & { name: string }): Promise<{ deadline: string }>;
  heartbeat(hold: BusHold & { name: string; lease: string }): Promise<{ deadline: string }>;
  /** `existing`: the same result was accepted before. Throws `result_conflict` for another one. */
  done(hold: BusHold, result: unknown): Promise<{ existing: boolean }>;
  /** `final`: it was work of a delegated task, which fails with it. */
  failed(hold: BusHold, reason: string): Promise<{ existing: boolean; final: boolean }>;
  reset(tenant: string, name: string): Promise<{ before: BusWorkerState; taskId: string | null }>;
  retry(tenant: string, taskId: string): Promise<{ before: BusTaskState; state: BusTaskState }>;
  stats(tenant: string): Promise<BusStats>;
  /** Those of each tenant that has ever used it, for metrics. */
  totals(): Promise<BusTotals>;
  get(tenant: string, taskId: string): Promise<BusTaskDetail>;
  /** Latest first: by submission, or (`state`) by when they came into it. */
  tasks(tenant: string, page: Page & { state?: BusTaskState | undefined }): Promise<BusTask[]>;
  /** Those heard of last first. */
  workers(tenant: string, page: Page): Promise<BusWorker[]>;
  /** Takes back what nobody came back for; `tidy`: and drops what is kept no longer. */
  sweep(tidy?: boolean): Promise<void>;
  /** This gateway leaves: every poll that waits here ends with nothing. */
  endPolls(): void;
  close(): void;
}

/** Of the buses of all tenants together. */
export interface BusTotals {
  queued: number;
  assigned: number;
  inProgress: number;
  blocked: number;
  dead: number;
  workers: number;
  workersPolling: number;
}

export interface NewBusTask {
  tenant: string;
  taskId: string;
  payload?: unknown;
  priority?: number | undefined;
  requires?: readonly string[] | undefined;
}

/** Ids of the work of delegated tasks: the bus gives them itself. */
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

  /** One move of a task. Throws what the script refuses. */
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
        throw new AppError('invalid_request', `Ids like "${taskId}" are those of delegated tasks.`);
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
          `The bus holds ${answer.limit} tasks that are not done, and no more: wait, or look at blocked and dead ones.`,
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
        throw new AppError('bus_full', `The bus knows ${answer.limit} workers, and no more.`);
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

/** Undefined stays so. Throws invalid_request and body_too_large. */
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
        `The task "${taskId}" is not yours any more: it was taken back, and this changed nothing. Poll for another.`,
      );
    case 'lease_required':
      return new AppError(
        'lease_required',
        `The task "${taskId}" was assigned more than once: send your name, or the lease that poll_task returned with it.`,
      );
    case 'conflict':
      return new AppError(
        'result_conflict',
        `The task "${taskId}" has another result already, which stays; this one was not taken.`,
      );
    case 'ended':
      return new AppError(
        'wrong_state',
        `The delegated task that "${taskId}" was work for failed with it: delegate it again.`,
      );
    default:
      return new AppError('wrong_state', `The task "${taskId}" is ${state}: ${adviceOf(state)}`, {
        details: { state },
      });
  }
}

/** What can be done in a state, for whoever tried something else. */
function adviceOf(state: string | undefined): string {
  const advice: Record<string, string> = {
    queued: 'it waits for a worker to poll it.',
    assigned: 'its worker must acknowledge it first, with ack_task.',
    in_progress: 'its worker may end it with worker_done or task_failed.',
    done: 'it has its result.',
    blocked: 'it waits for retry_task.',
    dead: 'it was lost too often, and waits for retry_task.',
    withdrawn: 'it is not wanted any more.',
  };
  return advice[state ?? ''] ?? 'that cannot be done now.';
}
