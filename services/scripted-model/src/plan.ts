/** Decides the next model response. */
import type { Conversation } from './conversation.ts';
import { isReview, reviewAnswerOf } from './review.ts';
import { parseScript, type Step } from './script.ts';

/** One action of a response. `use`, `hang` and `cut` are always the last one. */
export type Action =
  | { kind: 'text'; deltas: string[]; everyMs: number }
  | { kind: 'sleep'; ms: number }
  /** `line` identifies this line of this script within the session. */
  | { kind: 'fail'; status: number; times: number; line: string }
  | Extract<Step, { kind: 'use' }>
  | { kind: 'hang' | 'cut' };

const streamEveryMs = 10;
/** Texts are sent in several deltas, so that even a short one tests the client. */
const deltasPerText = 4;

/**
 * Decides the next response from the conversation alone. It keeps no state, so a session may continue in another process.
 * The position in the script is the number of tool uses since the script was sent.
 */
export function planOf(conversation: Conversation): Action[] {
  const script = conversation.texts.at(-1) ?? '';
  if (isReview(script)) return [reviewActionOf(script, conversation.outputTool)];
  const steps = parseScript(script);
  const actions: Action[] = [];
  for (let at = startOf(steps, conversation.toolUses); at < steps.length; at += 1) {
    const action = actionOf(steps, at, conversation);
    if (action) actions.push(action);
    if (action && endsAnswer(action)) return onLinesOfTheirOwn(actions);
  }
  const spoke = actions.some((action) => action.kind === 'text');
  return onLinesOfTheirOwn(spoke ? actions : [...actions, textOf(lastWordsOf(conversation))]);
}

/** A reviewer's response: a call of the output tool, if it is offered and the task asks for no other form. */
function reviewActionOf(script: string, outputTool: string | undefined): Action {
  const { text, structured } = reviewAnswerOf(script);
  return structured && outputTool ? { kind: 'use', tool: outputTool, input: structured } : textOf(text);
}

function startOf(steps: Step[], toolUses: number): number {
  if (toolUses === 0) return 0;
  const uses = steps.flatMap((step, at) => (step.kind === 'use' ? [at] : []));
  return (uses[toolUses - 1] ?? steps.length) + 1;
}

function actionOf(steps: Step[], at: number, conversation: Conversation): Action | undefined {
  const step = steps[at];
  switch (step?.kind) {
    // Skipped, because Claude Code answers an empty response with a request for content in the user's name.
    case 'say':
      return step.text === '' ? undefined : textOf(step.text);
    case 'remember':
      return textOf(`I will remember ${step.word}.`);
    case 'recall':
      return textOf(recalled(conversation, steps.slice(0, at)));
    case 'stream':
      return { kind: 'text', deltas: countingTo(step.count), everyMs: streamEveryMs };
    case 'fail':
      return { ...step, line: [conversation.texts.length, at, conversation.texts.at(-1)].join('\n') };
    case 'reject':
    case 'verdict':
    case 'form':
      return undefined;
    default:
      return step;
  }
}

const endsAnswer = (action: Action): boolean => ['use', 'hang', 'cut'].includes(action.kind);

const textOf = (text: string): Action => ({ kind: 'text', deltas: fewOf(text), everyMs: 0 });

/** Splits between words only, so that no delta ends inside a character. */
function fewOf(text: string): string[] {
  const words = text.split(/(?<=\s)(?=\S)/);
  const size = Math.ceil(words.length / deltasPerText);
  return Array.from({ length: Math.ceil(words.length / size) }, (_, part) =>
    words.slice(part * size, (part + 1) * size).join(''),
  );
}

const countingTo = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => (index === 0 ? '1' : ` ${index + 1}`));

/** Separates texts by a line break at the start of the later one, so that `stream: N` keeps its N deltas. */
function onLinesOfTheirOwn(actions: Action[]): Action[] {
  let spoke = false;
  return actions.map((action) => {
    if (action.kind !== 'text') return action;
    const [first = '', ...rest] = action.deltas;
    const opening = spoke ? `\n${first}` : first;
    spoke = true;
    return { ...action, deltas: [opening, ...rest] };
  });
}

function recalled({ texts }: Conversation, stepsBefore: Step[]): string {
  const steps = [...texts.slice(0, -1).flatMap(parseScript), ...stepsBefore];
  const words = steps.flatMap((step) => (step.kind === 'remember' ? [step.word] : []));
  return words.join(', ') || 'nothing';
}

const lastWordsOf = ({ toolUses, toolResult }: Conversation): string =>
  toolUses > 0 ? `The tool answered: ${toolResult}` : 'Done.';
