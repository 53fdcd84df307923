/** Responses to review prompts. */
import { reviewHeading } from '@harness/contracts';
import { isQuoted, linesOf, parseScript } from './script.ts';

/** Whether a text is a review prompt. */
export const isReview = (text: string): boolean => text.startsWith(reviewHeading);

/** A verdict. */
export interface ReviewAnswer {
  text: string;
  /** The verdict as an object, for responses with a schema; undefined if the task asks for a text. */
  structured: Record<string, unknown> | undefined;
}

/**
 * The response to a `reviewPromptOf`: rejected in the first N iterations of the task's `reject: N`; then the text of the
 * task's `verdict:`, if any; otherwise accepted. The task's `form:` sets the form. The reviewed result cannot influence
 * the verdict: only lines above the unquoted `Result:` are read, and all material is quoted.
 */
export function reviewAnswerOf(text: string): ReviewAnswer {
  const lines = linesOf(text);
  const task = sectionOf(lines, 'Task:', 'Result:');
  const iteration = Number(/^iteration: (\d+)$/m.exec(text.slice(0, text.indexOf('\nTask:')))?.[1] ?? 1);
  const steps = parseScript(task.join('\n'));
  const reject = steps.find((step) => step.kind === 'reject');
  const isRejected = reject !== undefined && iteration <= reject.times;
  const spoken = steps.find((step) => step.kind === 'verdict');
  if (spoken && !isRejected) return { text: spoken.text, structured: undefined };
  const verdict: Record<string, unknown> = isRejected
    ? {
        verdict: 'rejected',
        feedback: `The script rejects iteration ${iteration} of ${reject.times}: do it once more.`,
      }
    : { verdict: 'accepted' };
  const form = steps.find((step) => step.kind === 'form')?.name ?? 'structured';
  const write = forms[form];
  return write
    ? { text: write(JSON.stringify(verdict)), structured: undefined }
    : { text: JSON.stringify(verdict), structured: verdict };
}

/** Forms in which models write a verdict without a schema. */
const forms: Readonly<Record<string, (json: string) => string>> = {
  plain: (json) => json,
  fenced: (json) => `\`\`\`json\n${json}\n\`\`\``,
  prose: (json) => `I have compared the result with the task.\n\n${json}\n\nThat is my verdict.`,
};

/** The lines between two headings, without their quotation marks. */
function sectionOf(lines: string[], from: string, to: string): string[] {
  const start = lines.indexOf(from);
  const end = lines.indexOf(to, start);
  if (start < 0 || end < 0) return [];
  return lines
    .slice(start + 1, end)
    .filter(isQuoted)
    .map((line) => line.slice('> '.length));
}
