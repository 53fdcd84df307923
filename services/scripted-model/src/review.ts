import { reviewHeading } from '@harness/contracts';
import { isQuoted, linesOf, parseScript } from './script.ts';

export const isReview = (text: string): boolean => text.startsWith(reviewHeading);

export interface ReviewAnswer {
  text: string;
  /** The same for a model that is held to a schema; undefined where the task asks for a text. */
  structured: Record<string, unknown> | undefined;
}

/**
 * The answer to a `reviewPromptOf`: rejected while the iteration is within the task's `reject: N`, then the task's
 * `verdict:` as it stands, else accepted; written as the task's `form:` says. The result has no say: only lines above
 * the unquoted `Result:` are read, and nothing foreign is unquoted.
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

/** The ways in which models write a verdict that they were asked for in words. */
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
