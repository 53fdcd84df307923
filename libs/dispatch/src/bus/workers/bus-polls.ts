/**
 * Polls that wait, in the memory of one gateway: each is a promise and a timer, without any Redis command
 * while it waits. Redis has the worker's position (bus.lua); the script that assigns a task to it sends a
 * signal to this gateway.
 *
 *   asking --assigned, nothing--> answered
 *   asking --waiting--> parked --bus_assigned--> answered
 *                       parked --time is over--> leaving --> answered (with a task, if one came)
 *                       parked --the poller disconnects--> leaving --> cancelled (a task goes back)
 *                       parked --signals were missed--> asking again, under the same id
 */
import { randomUUID } from 'node:crypto';
import { AppError, type BusAssignment } from '@harness/contracts';
import { type Replicas, replicaTtlMs } from '../../gateway/replicas.ts';
import type { Log } from '../../redis/log.ts';
import { type Scripts, scriptsBeside } from '../../redis/scripts.ts';
import { type AssignedTask, assignmentOf } from '../bus-records.ts';

const lua = scriptsBeside(import.meta.url, { confirmed: ['bus-poll', 'bus-leave'] });

/** Polls of this gateway. */
export interface BusPolls {
  /**
   * Waits for a task; null when the time is over. Throws worker_not_found, wrong_state, bus_full, turn_cancelled,
   * unavailable.
   */
  poll(wish: BusPoll): Promise<BusAssignment | null>;
  /** Ends every poll with null: this gateway is shutting down. */
  end(): void;
  close(): void;
}

/** One poll of a worker. */
export interface BusPoll {
  tenant: string;
  name: string;
  timeoutMs: number;
  /** Aborts when the poller disconnects. */
  signal?: AbortSignal | undefined;
}

interface Polled {
  outcome: 'assigned' | 'waiting' | 'nothing' | 'not_registered' | 'wrong_state' | 'too_many_sets';
  limit?: number;
  task?: AssignedTask;
  state?: string;
  taskId?: string;
}

/** Why a parked poll continues. */
type Wake = { task: AssignedTask } | 'over' | 'superseded' | 'left' | 'missed';

/** Pause between attempts to reach Redis, ms. */
const retryMs = 500;
/** Attempts to hand back the task of a poller that disconnected; after these, the assignment expires. */
const leaveTries = 5;

/** `replicas` delivers the signals for parked polls. */
export function createBusPolls(deps: { scripts: Scripts; replicas: Replicas; logger: Log }): BusPolls {
  const { scripts, replicas, logger } = deps;
  const parked = new Map<string, (wake: Wake) => void>();
  let ended = false;
  const stop = replicas.onSignal((signal) => {
    if (signal.kind === 'bus_assigned') parked.get(signal.poll)?.({ task: signal.task });
    else if (signal.kind === 'bus_poll_over') parked.get(signal.poll)?.('superseded');
    else if (signal.kind === 'missed') for (const wake of [...parked.values()]) wake('missed');
  });

  const ask = (wish: BusPoll, poll: string, waitMs: number) =>
    scripts.call<Polled>(lua['bus-poll'], {
      tenant: wish.tenant,
      name: wish.name,
      poll,
      replica: replicas.id,
      replicaTtlMs,
      waitMs: Math.max(0, Math.round(waitMs)),
    });
  const leave = ({ tenant, name }: BusPoll, poll: string, gone: boolean) =>
    scripts.call<{ outcome: 'left' | 'over' | 'assigned'; task?: AssignedTask }>(lua['bus-leave'], {
      tenant,
      name,
      poll,
      gone,
    });
  /** Ends the poll of a poller that has disconnected; retries in the background. */
  const giveBack = async (wish: BusPoll, poll: string, tries = leaveTries): Promise<void> => {
    try {
      await leave(wish, poll, true);
    } catch (error) {
      if (tries > 1) setTimeout(() => void giveBack(wish, poll, tries - 1), retryMs).unref();
      else logger.warn({ err: error, worker: wish.name }, 'bus: a poll could not be ended; it will expire');
    }
  };

  return {
    async poll(wish) {
      const poll = randomUUID().replaceAll('-', '');
      const endsAt = performance.now() + wish.timeoutMs;
      const isGone = () => wish.signal?.aborted === true;
      const waker = createWaker(wish.signal);
      parked.set(poll, waker.wake);
      try {
        for (let tries = 0; ; ) {
          const leftMs = ended ? 0 : endsAt - performance.now();
          const first = tries++ === 0;
          const answer = await ask(wish, poll, leftMs).catch((error: unknown) => {
            if (first || leftMs <= 0) throw error;
            return undefined; // Redis is unavailable for now: ask again under the same id
          });
          if (isGone()) break;
          if (answer && answer.outcome !== 'waiting') return assignmentIn(answer, wish);
          const wake = await waker.wait(answer ? leftMs : Math.min(retryMs, leftMs));
          if (wake === 'superseded') return null;
          if (isGone()) break;
          if (typeof wake === 'object') return assignmentOf(wake.task);
          if (wake === 'missed' || (!answer && performance.now() < endsAt)) continue;
          const { task } = await leave(wish, poll, false);
          if (isGone()) break;
          return task ? assignmentOf(task) : null;
        }
        void giveBack(wish, poll);
        throw new AppError('turn_cancelled', 'The caller has cancelled the poll or disconnected.');
      } finally {
        parked.delete(poll);
        waker.close();
      }
    },
    end() {
      ended = true;
      for (const wake of [...parked.values()]) wake('over');
    },
    close: stop,
  };
}

/** The refusal of a wait with labels that no other waiting worker has. */
export const tooManyWaitingSets = (limit = 0) =>
  new AppError(
    'bus_full',
    `The waiting workers have ${limit} different sets of labels, the maximum. Register with the labels of another worker, or poll with timeoutMs 0.`,
  );

function assignmentIn(
  { outcome, task, state, taskId, limit }: Polled,
  { name }: BusPoll,
): BusAssignment | null {
  if (task) return assignmentOf(task);
  if (outcome === 'nothing') return null;
  if (outcome === 'too_many_sets') throw tooManyWaitingSets(limit);
  if (outcome === 'not_registered') {
    throw new AppError('worker_not_found', `There is no worker "${name}": call register_worker first.`);
  }
  throw new AppError(
    'wrong_state',
    `The worker "${name}" is ${state}: it has task ${taskId}. End it with worker_done or task_failed, or give it up with reset_worker.`,
    { details: { state, taskId } },
  );
}

/**
 * Wakes one parked poll. A wake-up that comes before the poll waits is kept; an assigned task is never
 * overwritten.
 */
function createWaker(signal: AbortSignal | undefined) {
  let kept: Wake | undefined;
  let resume: ((wake: Wake) => void) | undefined;
  const wake = (why: Wake) => {
    if (resume) resume(why);
    else if (typeof kept !== 'object') kept = why;
  };
  const onAbort = () => wake('left');
  signal?.addEventListener('abort', onAbort, { once: true });
  return {
    wake,
    async wait(ms: number): Promise<Wake> {
      let timer: NodeJS.Timeout | undefined;
      try {
        return await new Promise<Wake>((resolve) => {
          resume = resolve;
          if (signal?.aborted) return resolve('left');
          if (kept !== undefined) return resolve(kept);
          timer = setTimeout(() => resolve('over'), Math.max(0, ms));
          return undefined;
        });
      } finally {
        clearTimeout(timer);
        resume = undefined;
        kept = undefined;
      }
    },
    close: () => signal?.removeEventListener('abort', onAbort),
  };
}
