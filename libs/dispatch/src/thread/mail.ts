/**
 * Mail that the system writes. Foreign text (a prompt, a result, a reviewer's feedback) is quoted behind `>
 * `, so it cannot pass for a statement of the system. The id of a mail makes a repeated delivery a no-op.
 */
import { newRunId, quote, type Task } from '@harness/contracts';

/** One mail to a thread; it becomes a run there. */
export interface Mail {
  /** The same id is delivered once. */
  id: string;
  threadId: string;
  runId: string;
  kind: 'review' | 'feedback' | 'notification';
  input: string;
  taskId?: string;
  iteration?: number;
}

const endings = {
  completed: 'has completed',
  failed: 'has failed',
  cancelled: 'was cancelled',
} as const;

/** The mail that reports a task's end to its parent; null when there is no parent. */
export function notificationOf(
  task: Task,
  end: { status: keyof typeof endings; verdict: string; text: string },
  id: string,
): Mail | null {
  if (!task.parentThreadId) return null;
  const rounds = `verdict ${end.verdict}, iteration ${task.iteration} of ${task.maxIterations}`;
  const head = `The delegated task ${task.taskId} ${endings[end.status]} (${rounds}).`;
  const input = `${head}\nThe task was:\n${quote(task.prompt)}\nIts result:\n${quote(end.text)}`;
  return { id, threadId: task.parentThreadId, runId: newRunId(), kind: 'notification', input };
}

/**
 * The mail that reports a cancelled task to its parent; created before the script decides whether there is
 * anything to cancel.
 */
export function cancelledMailOf(task: Task): Mail {
  const end = { status: 'cancelled', verdict: 'interrupted', text: 'none: it was cancelled' } as const;
  const withParent = { ...task, parentThreadId: task.parentThreadId ?? task.threadId };
  return notificationOf(withParent, end, `${task.taskId}:cancelled`) as Mail;
}

/** The mail that submits a task's result for review, in the task's own thread. */
export function reviewOf(task: Task, result: string, runId: string): Mail {
  return {
    id: `${runId}:review`,
    threadId: task.threadId,
    runId: newRunId(),
    kind: 'review',
    input: result,
    taskId: task.taskId,
    iteration: task.iteration,
  };
}

/** The mail that returns a rejected result to the task's thread, for the next iteration. */
export function feedbackOf(task: Task, feedback: string, runId: string): Mail {
  const next = task.iteration + 1;
  const head = `The reviewer did not accept the result. This is iteration ${next} of ${task.maxIterations}: revise it.`;
  return {
    id: `${runId}:feedback`,
    threadId: task.threadId,
    runId: newRunId(),
    kind: 'feedback',
    input: `${head}\nThe reviewer says:\n${quote(feedback)}\nThe task:\n${quote(task.prompt)}`,
    taskId: task.taskId,
    iteration: next,
  };
}
