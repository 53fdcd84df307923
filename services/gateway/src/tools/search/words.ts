/**
 * The words of a text, with the whole of a name before its parts: `GitHub` is three words, `createPullRequest` four, and
 * `create_pull_request` three.
 */
export const wordsOf = (text: string): string[] =>
  wholeWordsOf(text).flatMap((word) => {
    const parts = partsOf(word);
    return parts.length > 1 ? [word, ...parts] : parts;
  });

/** The words of a text as they are written. */
export const wholeWordsOf = (text: string): string[] => text.split(/[^\p{L}\p{N}]+/u).filter(Boolean);

/** The parts of a name in camel case; one for other words. */
export const partsOf = (word: string): string[] =>
  word
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .split(' ');

const stopWords = new Set(
  'a about all am an and any are as at be been being but by can could did do does doing down each few for from had has have having he her here hers him his how i if in into is it its just let me more most much my no nobody nor not now of off on once only or other our out over own per please she should so some someone somebody something such than that the their theirs them then there these they this those through to too under until up us very was we were what when where which while who whom whose why will with would you your yours'.split(
    ' ',
  ),
);

/** Forms of words that endings do not explain, and the word. */
const irregular = new Map(
  'sent send|wrote write|written write|paid pay|bought buy|sold sell|made make|went go|gone go|told tell|found find|lost lose|built build|ran run|broke break|broken break|chose choose|chosen choose|forgot forget|forgotten forget|spent spend|kept keep|saw see|seen see|took take|taken take|gave give|given give|got get|drove drive|met meet|meant mean|came come|began begin|begun begin|knew know|known know|threw throw|thrown throw|shown show|men man|children child|people person|bigger big|biggest big|faster fast|fastest fast|smaller small|older old|oldest old|newer new|newest new|better good|best good'
    .split('|')
    .map((pair) => pair.split(' ') as [string, string]),
);

/** A word without the endings that change with its use; null for a word that says nothing. */
export const stemOf = (word: string): string | null =>
  stopWords.has(word.toLowerCase()) ? null : rootOf(word);

/** A word without the endings that change with its use. */
export function rootOf(word: string): string {
  const written = word.toLowerCase();
  const lower = irregular.get(written) ?? written;
  if (lower === 'news') return lower; // not several of "new"
  if (lower.length > 4 && lower.endsWith('ies')) return `${lower.slice(0, -3)}y`;
  if (lower.length > 5 && lower.endsWith('ing')) return trimmed(lower.slice(0, -3));
  if (lower.length > 4 && lower.endsWith('ed')) return trimmed(lower.slice(0, -2));
  if (lower.length > 4 && /(?:ss|x|ch|sh)es$/.test(lower)) return lower.slice(0, -2);
  if (lower.length > 3 && lower.endsWith('s') && !/[su]s$/.test(lower)) return trimmed(lower.slice(0, -1));
  return trimmed(lower);
}

/** Without a last `e`, or the second of two last consonants, so that `create` and `creating`, `drop` and `dropped` are the same. */
const trimmed = (stem: string): string =>
  stem.length > 4 && (stem.endsWith('e') || /([b-df-hj-km-np-rt-vx-z])\1$/.test(stem))
    ? stem.slice(0, -1)
    : stem;
