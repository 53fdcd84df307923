/**
 * What the end of a task's turn leads to: pure decisions, carried out by the commit.
 *
 *   turn  --success--> review
 *   turn  --failure--> task failed, parent told
 *   review --accepted--> task completed (satisfied), parent told
 *   review --rejected, iterations left--> feedback, next turn
 *   review --rejected, last one--> task completed (max_iterations_reached), parent told as it is
 */
import type { ErrorBody, FinalRunStatus, Task } from '@harness/contracts';
import { feedbackOf, type Mail, notificationOf, reviewOf, type TaskChange } from '@harness/dispatch';
import type { TaskVerdict } from '@harness/plugin-kit';

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

export function afterWork(task: Task, runId: string, result: string): Consequence {
  const change: TaskChange = {
    taskId: task.taskId,
    iteration: task.iteration,
    set: { phase: 'review', result },
  };
  return { task: change, mail: [reviewOf(task, result, runId)] };
}

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
