/**
 * Reads a reviewer's verdict from what a model wrote. Models put the JSON they are asked for between fences, prose and
 * explanations; what cannot be read, or says both things, is not an acceptance.
 */
import { cutText } from '@harness/contracts';
import type { JsonSchema, TaskVerdict } from '@harness/plugin-kit';
import { z } from 'zod';

/** What the reviewer is held to where its model takes a schema. Flat: some models refuse unions. */
export const verdictSchema: JsonSchema = {
  type: 'object',
  properties: {
    verdict: { enum: ['accepted', 'rejected'] },
    feedback: { type: 'string', description: 'Of a rejection: what must change' },
  },
  required: ['verdict'],
};

/** Characters of an answer that are read: a verdict stands in its beginning or not at all. */
const maxChars = 100_000;
/** Opening braces that are tried: each costs a walk to its end. */
const maxCandidates = 200;
/** Characters of an unreadable answer that the sub-agent is shown. */
const shownChars = 500;

const Verdict = z.object({
  verdict: z.string().transform((word, context) => {
    const known = word.trim().toLowerCase();
    if (known === 'accepted' || known === 'rejected') return known;
    context.addIssue('is neither "accepted" nor "rejected"');
    return z.NEVER;
  }),
  feedback: z.string().nullish(),
});

/** The one verdict of an answer; unknown fields, fences and prose around it are ignored. */
export function parseVerdict(answer: string): TaskVerdict {
  const verdicts = objectsIn(withoutQuotes(cutText(answer, maxChars))).flatMap((object) => {
    const parsed = Verdict.safeParse(object);
    return parsed.success ? [parsed.data] : [];
  });
  const [last] = verdicts.slice(-1);
  const agree = verdicts.every(({ verdict }) => verdict === last?.verdict);
  if (!last || !agree) return unreadable(answer);
  if (last.verdict === 'accepted') return { accepted: true };
  const reasons = verdicts.flatMap(({ feedback }) => (feedback && /\S/.test(feedback) ? [feedback] : []));
  return {
    accepted: false,
    feedback: reasons.at(-1) ?? 'The reviewer rejected the result and gave no reason.',
  };
}

function unreadable(answer: string): TaskVerdict {
  const shown = cutText(answer, shownChars);
  return {
    accepted: false,
    feedback: `The reviewer gave no readable verdict, so the result is not accepted. It said: ${shown}`,
  };
}

/** Material is quoted behind `>`; a verdict that the reviewer quotes from it is not the reviewer's. */
const withoutQuotes = (text: string) => text.replace(/^[ \t]*>.*$/gm, '');

/** Every JSON object in a text, outermost first; one that holds no verdict is looked into. */
function objectsIn(text: string): unknown[] {
  const found: unknown[] = [];
  let candidates = 0;
  for (let at = text.indexOf('{'); at >= 0 && candidates < maxCandidates; candidates++) {
    const end = endOfObject(text, at);
    const object = end === undefined ? undefined : parsed(text.slice(at, end));
    const isVerdict = typeof object === 'object' && object !== null && 'verdict' in object;
    if (isVerdict) found.push(object);
    at = text.indexOf('{', isVerdict ? end : at + 1);
  }
  return found;
}

/** The position after the brace that closes the one at `start`, strings left out of account. */
function endOfObject(text: string, start: number): number | undefined {
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (inString) {
      if (character === '\\') at++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{') depth++;
    else if (character === '}' && --depth === 0) return at + 1;
  }
  return undefined;
}

function parsed(json: string): unknown {
  try {
    // Models break lines within strings, which JSON does not allow; between values a space does the same.
    return JSON.parse(json.replace(/[\n\r\t]/g, ' '));
  } catch {
    return undefined; // prose in braces
  }
}
