/** Notes: one-line descriptions of events. */
import type { ThreadEvent } from '@harness/contracts';
import { oneLineOf } from './printable.ts';

/** A one-line description of an event. `bad`: something failed. */
export interface Note {
  text: string;
  bad?: true;
}

const words = (value: unknown): string =>
  oneLineOf(typeof value === 'string' ? value : JSON.stringify(value ?? ''));
/** The beginning of a task id, enough to recognize it. */
export const shortTaskId = (taskId: unknown): string => String(taskId).slice(0, 'task_'.length + 6);

/** The text of a tool result; for a structured result its `message`, if it has one. */
function answerIn(text: unknown): string {
  try {
    const { message } = JSON.parse(String(text)) as { message?: unknown };
    if (typeof message === 'string') return words(message);
  } catch {
    // not JSON: plain text
  }
  return words(text);
}

/** The note about an event; undefined = none. `own`: the event belongs to the shown thread, not to a sub-agent. */
export function noteOf({ type, data }: ThreadEvent, own: boolean): Note | undefined {
  const task = shortTaskId(data.taskId);
  switch (type) {
    case 'agent.tool_use':
      return { text: `→ ${words(data.name)} ${words(data.input)}` };
    case 'agent.tool_result':
      return data.isError === true
        ? { text: `✗ ${answerIn(data.text)}`, bad: true }
        : { text: `← ${answerIn(data.text)}` };
    case 'agent.question':
      return { text: `? ${words(data.message)}` };
    case 'task.created':
      return { text: `${task} delegated: ${words(data.prompt)}` };
    case 'task.checkin':
      return { text: `${task} checks in: ${words(data.message)}` };
    case 'task.review_started':
      return { text: `${task} is reviewed, iteration ${words(data.iteration)}` };
    case 'task.review_ended':
      return data.verdict === 'satisfied'
        ? { text: `${task} is accepted` }
        : { text: `${task} is not accepted (${words(data.verdict)}): ${words(data.feedback)}`, bad: true };
    case 'task.completed':
      return { text: `${task} has completed` };
    case 'task.failed':
      return {
        text: `${task} has failed: ${words((data.error as { message?: string } | undefined)?.message)}`,
        bad: true,
      };
    case 'task.cancelled':
      return { text: `${task} is cancelled` };
    default:
      return own ? noteOfRun({ type, data } as ThreadEvent) : undefined; // runs of sub-agents are covered by the events of their tasks
  }
}

function noteOfRun({ type, data }: ThreadEvent): Note | undefined {
  const error = (data.error as { message?: string } | null | undefined)?.message;
  switch (type) {
    case 'run.started':
      return Number(data.attempt) > 1
        ? { text: `The run starts again, attempt ${words(data.attempt)}` }
        : undefined;
    case 'run.failed':
    case 'run.timeout':
      return { text: `The run has failed: ${words(error ?? type)}`, bad: true };
    case 'run.interrupted':
    case 'run.cancelled':
      return { text: 'The run was interrupted.', bad: true };
    default:
      return undefined;
  }
}
