/**
 * What follows from the end of a task's turn. Pure decisions; the commit carries them out.
 *
 *   turn  --success--> review
 *   turn  --failure--> task failed, parent notified
 *   review --accepted--> task completed (satisfied), parent notified
 *   review --rejected, iterations left--> feedback, next turn
 *   review --rejected, last one--> task completed (max_iterations_reached), parent notified of the rejection
 */
import type { ErrorBody, FinalRunStatus, Task } from '@harness/contracts';
import { feedbackOf, type Mail, notificationOf, reviewOf, type TaskChange } from '@harness/dispatch';
import type { TaskVerdict } from '@harness/plugin-kit';

/** A change of the task and the mail that goes out with it. */
export interface Consequence {
  task: TaskChange;
  mail: Mail[];
}

/** How a turn failed. */
export interface Failure {
  status: FinalRunStatus;
  error: ErrorBody;
}

const listed = (mail: Mail | null): Mail[] => (mail ? [mail] : []);

/** A successful work turn: its result goes to review. */
export function afterWork(task: Task, runId: string, result: string): Consequence {
  const change: TaskChange = {
    taskId: task.taskId,
    iteration: task.iteration,
    set: { phase: 'review', result },
  };
  return { task: change, mail: [reviewOf(task, result, runId)] };
}

/** A failed or cancelled turn: the task fails or is cancelled, and its parent is notified. */
export function afterFailure(task: Task, runId: string, { status, error }: Failure): Consequence {
  const cancelled = status === 'cancelled';
  const end = {
    status: cancelled ? ('cancelled' as const) : ('failed' as const),
    verdict: cancelled ? 'interrupted' : 'failed',
    text: `${error.code}: ${error.message}`,
  };
  const set = { status: end.status, verdict: end.verdict, error: JSON.stringify(error) };
  return {
    task: { taskId: task.taskId, iteration: task.iteration, set },
    mail: listed(notificationOf(task, end, `${runId}:notification`)),
  };
}

/** A review: the task completes, or its thread gets feedback for another iteration. */
export function afterReview(
  task: Task,
  runId: string,
  { result, verdict }: { result: string; verdict: TaskVerdict },
): Consequence {
  const last = task.iteration >= task.maxIterations;
  const word = verdict.accepted ? 'satisfied' : last ? 'max_iterations_reached' : 'needs_revision';
  const change = (set: TaskChange['set']): TaskChange => ({
    taskId: task.taskId,
    iteration: task.iteration,
    set: { ...set, verdict: word },
    event: 'task.review_ended',
    fields: {
      verdict: word,
      iteration: task.iteration,
      ...(verdict.accepted ? {} : { feedback: verdict.feedback }),
    },
  });
  if (!verdict.accepted && !last) {
    return {
      task: change({ phase: 'turn', iteration: task.iteration + 1, feedback: verdict.feedback }),
      mail: [feedbackOf(task, verdict.feedback, runId)],
    };
  }
  const remark = verdict.accepted ? '' : `\n\nThe last review did not accept it: ${verdict.feedback}`;
  const end = { status: 'completed', verdict: word, text: `${result}${remark}` } as const;
  const feedback = verdict.accepted ? {} : { feedback: verdict.feedback };
  return {
    task: change({ status: 'completed', ...feedback }),
    mail: listed(notificationOf(task, end, `${runId}:notification`)),
  };
}
