/**
 * Polls that wait, in the memory of one gateway: each a promise and a timer, and not one command to Redis while it waits.
 * Where its worker waits is in Redis (bus.lua); whoever gives it a task there says so to this gateway.
 *
 *   asking --assigned, nothing--> answered
 *   asking --waiting--> parked --bus_assigned--> answered
 *                       parked --time is over--> leaving --> answered (with what came meanwhile, if anything)
 *                       parked --the poller leaves--> leaving --> cancelled (what came meanwhile goes back at once)
 *                       parked --signals were missed--> asking again, under the same id
 */
import { randomUUID } from 'node:crypto';
import { AppError, type BusAssignment } from '@harness/contracts';
import { type Replicas, replicaTtlMs } from '../../gateway/replicas.ts';
import type { Log } from '../../redis/log.ts';
import { type Scripts, scriptsBeside } from '../../redis/scripts.ts';
import { type AssignedTask, assignmentOf } from '../bus-records.ts';

export const workerScripts = scriptsBeside(import.meta.url, {
  confirmed: ['bus-poll', 'bus-leave', 'bus-register', 'bus-reset', 'bus-ack'],
  unconfirmed: ['bus-heartbeat'],
});

export interface BusPolls {
  /** Null when the time is over. Throws worker_not_found, wrong_state, turn_cancelled, unavailable. */
  poll(wish: BusPoll): Promise<BusAssignment | null>;
  /** Every poll ends now, with nothing: this gateway leaves. */
  end(): void;
  close(): void;
}

export interface BusPoll {
  tenant: string;
  name: string;
  timeoutMs: number;
  /** Aborts when the poller leaves. */
  signal?: AbortSignal | undefined;
}

interface Polled {
  outcome: 'assigned' | 'waiting' | 'nothing' | 'not_registered' | 'wrong_state';
  task?: AssignedTask;
  state?: string;
  taskId?: string;
}

/** Why a parked poll goes on. */
type Wake = { task: AssignedTask } | 'over' | 'superseded' | 'left' | 'missed';

/** Between tries to reach Redis again, ms. */
const retryMs = 500;
/** Tries to give back what a poller left behind; after these the assignment's own time limit does. */
const leaveTries = 5;

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
    scripts.call<Polled>(workerScripts['bus-poll'], {
      tenant: wish.tenant,
      name: wish.name,
      poll,
      replica: replicas.id,
      replicaTtlMs,
      waitMs: Math.max(0, Math.round(waitMs)),
    });
  const leave = ({ tenant, name }: BusPoll, poll: string, gone: boolean) =>
    scripts.call<{ outcome: 'left' | 'over' | 'assigned'; task?: AssignedTask }>(workerScripts['bus-leave'], {
      tenant,
      name,
      poll,
      gone,
    });
  /** The poller is not there to be told: tried a few times in the background. */
  const giveBack = async (wish: BusPoll, poll: string, tries = leaveTries): Promise<void> => {
    try {
      await leave(wish, poll, true);
    } catch (error) {
      if (tries > 1) setTimeout(() => void giveBack(wish, poll, tries - 1), retryMs).unref();
      else
        logger.warn({ err: error, worker: wish.name }, 'bus: a poll was not taken back, its time limit will');
    }
  };

  return {
    async poll(wish) {
      const poll = randomUUID().replaceAll('-', '');
      const endsAt = performance.now() + wish.timeoutMs;
      const isGone = () => wish.signal?.aborted === true;
      const seat = createSeat(wish.signal);
      parked.set(poll, seat.wake);
      try {
        for (let tries = 0; ; ) {
          const leftMs = ended ? 0 : endsAt - performance.now();
          const first = tries++ === 0;
          const answer = await ask(wish, poll, leftMs).catch((error: unknown) => {
            if (first || leftMs <= 0) throw error;
            return undefined; // Redis is coming back: the place was had before, and is asked for again
          });
          if (isGone()) break;
          if (answer && answer.outcome !== 'waiting') return assignmentIn(answer, wish);
          const wake = await seat.wait(answer ? leftMs : Math.min(retryMs, leftMs));
          if (wake === 'superseded') return null;
          if (isGone()) break;
          if (typeof wake === 'object') return assignmentOf(wake.task);
          if (wake === 'missed' || (!answer && performance.now() < endsAt)) continue;
          const { task } = await leave(wish, poll, false);
          if (isGone()) break;
          return task ? assignmentOf(task) : null;
        }
        void giveBack(wish, poll);
        throw new AppError('turn_cancelled', 'The poll was cancelled.');
      } finally {
        parked.delete(poll);
        seat.close();
      }
    },
    end() {
      ended = true;
      for (const wake of [...parked.values()]) wake('over');
    },
    close: stop,
  };
}

function assignmentIn({ outcome, task, state, taskId }: Polled, { name }: BusPoll): BusAssignment | null {
  if (task) return assignmentOf(task);
  if (outcome === 'nothing') return null;
  if (outcome === 'not_registered') {
    throw new AppError('worker_not_found', `There is no worker "${name}": call register_worker first.`);
  }
  throw new AppError(
    'wrong_state',
    `The worker "${name}" is ${state}: it has task ${taskId}. End that with worker_done or task_failed, or give it up with reset_worker.`,
    { details: { state, taskId } },
  );
}

/** Where one poll waits to be woken; what wakes it while nobody waits is kept, and work is never overwritten. */
function createSeat(signal: AbortSignal | undefined) {
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
