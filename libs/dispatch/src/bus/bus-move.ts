import { AppError } from '@harness/contracts';
import type { Doorbell } from '../lease/doorbell.ts';
import type { Script, Scripts } from '../redis/scripts.ts';
import type { BusHold } from './bus-contract.ts';

/** What a script of the bus returns. */
export interface BusAnswer {
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

/** A thread to ring, and its owner if it has one. */
export type Ring = { threadId: string; owner?: string };

/** The moves of tasks. */
export interface BusMoves {
  /** Runs one move of a task. Throws the script's refusal as an error. */
  move<Args extends BusHold>(script: Script, args: Args): Promise<BusAnswer>;
  /** Rings a thread that a move has sent mail to. */
  ring(one: Ring | undefined): void;
}

/** Creates the moves. */
export function createBusMoves(deps: { scripts: Scripts; doorbell: Doorbell }): BusMoves {
  const { scripts, doorbell } = deps;
  const ring: BusMoves['ring'] = (one) => one && void doorbell.ring(one.threadId, one.owner, 'review');
  return {
    async move(script, args) {
      const answer = await scripts.call<BusAnswer>(script, args);
      if (answer.outcome !== 'ok') throw refusalOf(answer, args.taskId);
      ring(answer.rung);
      return answer;
    },
    ring,
  };
}

/** The error for a task that the bus does not have. */
export const taskNotFound = (taskId: string): AppError =>
  new AppError(
    'task_not_found',
    `There is no task "${taskId}" on the bus: it was never submitted, or is no longer kept. Check the id.`,
  );

function refusalOf({ outcome, state }: BusAnswer, taskId: string): AppError {
  switch (outcome) {
    case 'not_found':
      return taskNotFound(taskId);
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
