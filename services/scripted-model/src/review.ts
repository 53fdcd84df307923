import { reviewHeading } from '@harness/contracts';
import { isQuoted, linesOf, parseScript } from './script.ts';

export const isReview = (text: string): boolean => text.startsWith(reviewHeading);

/**
 * The answer to a `reviewPromptOf`: rejected while the iteration is within the task's `reject: N`, then the task's
 * `verdict:` as it stands, else accepted. The result has no say: only lines above the unquoted `Result:` are read,
 * and nothing foreign is unquoted.
 */
export function verdictOf(text: string): string {
  const lines = linesOf(text);
  const task = sectionOf(lines, 'Task:', 'Result:');
  const iteration = Number(/^iteration: (\d+)$/m.exec(text.slice(0, text.indexOf('\nTask:')))?.[1] ?? 1);
  const steps = parseScript(task.join('\n'));
  const reject = steps.find((step) => step.kind === 'reject');
  if (reject && iteration <= reject.times) {
    const feedback = `The script rejects iteration ${iteration} of ${reject.times}: do it once more.`;
    return JSON.stringify({ verdict: 'rejected', feedback });
  }
  const verdict = steps.find((step) => step.kind === 'verdict');
  return verdict ? verdict.text : JSON.stringify({ verdict: 'accepted' });
}

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
