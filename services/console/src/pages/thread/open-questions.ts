import { isFinalRunEvent, type ThreadEvent } from './event-kinds.ts';

/** A question of a tool that a person has not answered yet. */
export interface Question {
  questionId: string;
  runId: string;
  message: string;
  /** JSON Schema of the answer. */
  schema: unknown;
  /** A page to open instead of an answer. */
  url: string | undefined;
}

/** A question is open until its end, or the end of its run or attempt. The same map if nothing has changed. */
export function questionsAfter(
  before: ReadonlyMap<string, Question>,
  events: readonly ThreadEvent[],
): ReadonlyMap<string, Question> {
  let open = before;
  for (const { type, data } of events) {
    const { runId = '', questionId } = data as { runId?: string; questionId?: string };
    if (type === 'agent.question') {
      const { message, schema, url } = data as { message?: unknown; schema?: unknown; url?: unknown };
      const question: Question = {
        questionId: String(questionId),
        runId,
        message: String(message),
        schema,
        url: typeof url === 'string' ? url : undefined,
      };
      open = new Map([...open, [question.questionId, question]]);
    } else if (type === 'agent.question_ended') open = new Map([...open].filter(([id]) => id !== questionId));
    else if (open.size > 0 && (isFinalRunEvent(type) || type === 'run.started'))
      open = new Map([...open].filter(([, question]) => question.runId !== runId));
  }
  return open;
}
