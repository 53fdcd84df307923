/**
 * Parses a reviewer's verdict from a model response. Models put the requested JSON between fences, prose and
 * explanations. A response that is unreadable or contradicts itself does not accept the result.
 */
import { cutText } from '@harness/contracts';
import type { JsonSchema, TaskVerdict } from '@harness/plugin-kit';
import { z } from 'zod';

/** The schema of the reviewer's response, for models that support one. It is flat, because some models refuse unions. */
export const verdictSchema: JsonSchema = {
  type: 'object',
  properties: {
    verdict: { enum: ['accepted', 'rejected'] },
    feedback: { type: 'string', description: 'For a rejection: what must change' },
  },
  required: ['verdict'],
};

/** Only this many characters of a model response are searched for a verdict. */
const maxChars = 100_000;
/** Opening braces that are tried, because each needs a scan to its closing brace. */
const maxCandidates = 200;
/** Characters of an unreadable response that the feedback quotes. */
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

/** Returns the verdict of a model response; ignores unknown fields, and fences and prose around the JSON. */
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

/** Removes lines with `>`: they quote the reviewed material, so a verdict in them is not the reviewer's own. */
const withoutQuotes = (text: string) => text.replace(/^[ \t]*>.*$/gm, '');

/** JSON objects in a text with the field `verdict`, outermost first. Other objects are searched for nested ones. */
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

/** The position after the brace that closes the one at `start`; ignores braces in strings. */
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
    // Models put line breaks into strings, which JSON does not allow; between values a space is equivalent.
    return JSON.parse(json.replace(/[\n\r\t]/g, ' '));
  } catch {
    return undefined; // not JSON: prose in braces
  }
}
