import { readFileSync } from 'node:fs';
import { rootOf, stemOf } from './words.ts';

/** What people say, and what tools call it. All words are without endings. */
export interface Saying {
  phrase: readonly string[];
  meaning: readonly string[];
}

/** A saying in a question, and where its words are there. */
export interface SaidAt {
  saying: Saying;
  positions: readonly number[];
}

/** Sayings by the first word of their phrase. */
export type Sayings = ReadonlyMap<string, readonly Saying[]>;

/** Words that may stand between two words of a phrase: "put the *old blue* card away". */
const maxGap = 3;

/** Reads the sayings of the gateway. This takes some milliseconds. */
export const loadSayings = (): Sayings =>
  parseSayings(readFileSync(new URL('./sayings.txt', import.meta.url), 'utf8'));

/** The sayings in a question, by the roots of its words. No word is of two sayings: those with more words come first. */
export function sayingsIn(roots: readonly string[], sayings: Sayings): SaidAt[] {
  const found = roots.flatMap((root, at) =>
    (sayings.get(root) ?? []).flatMap((saying) => {
      const positions = positionsOf(saying.phrase, roots, at);
      return positions ? [{ saying, positions }] : [];
    }),
  );
  // Of two with as many words, the one whose words stand closer together.
  found.sort((one, other) => other.positions.length - one.positions.length || spanOf(one) - spanOf(other));
  const taken = new Set<number>();
  return found.filter(({ positions }) => {
    if (positions.some((position) => taken.has(position))) return false;
    for (const position of positions) taken.add(position);
    return true;
  });
}

const spanOf = ({ positions }: SaidAt): number => (positions.at(-1) as number) - (positions[0] as number);

/** Where the words of a phrase are that begins here, or null. */
function positionsOf(phrase: readonly string[], roots: readonly string[], first: number): number[] | null {
  const positions = [first];
  for (const word of phrase.slice(1)) {
    const from = (positions.at(-1) as number) + 1;
    const at = roots.slice(from, from + maxGap + 1).indexOf(word);
    if (at < 0) return null;
    positions.push(from + at);
  }
  return positions;
}

/**
 * Reads lines like `get rid of | throw/chuck away = delete remove`: phrases, their words with `/` between those of which any will do,
 * and the words that tools use, or none where the phrase says nothing. `#` begins a comment.
 */
export function parseSayings(text: string): Sayings {
  const sayings = new Map<string, Saying[]>();
  for (const line of text.split('\n')) {
    const [said = '', meant] = line.replace(/#.*/, '').split('=');
    if (meant === undefined) continue;
    const meaning = wordsIn(meant).flatMap((word) => stemOf(word) ?? []);
    for (const phrase of said.split('|').flatMap(phrasesOf)) {
      const [first = ''] = phrase;
      const others = sayings.get(first);
      if (others) others.push({ phrase, meaning });
      else sayings.set(first, [{ phrase, meaning }]);
    }
  }
  return sayings;
}

/** The phrases that `throw/chuck away` stands for. */
const phrasesOf = (said: string): string[][] =>
  wordsIn(said)
    .map((choice) => choice.split('/').map(rootOf))
    .reduce<string[][]>(
      (phrases, choice) => phrases.flatMap((phrase) => choice.map((word) => [...phrase, word])),
      [[]],
    )
    .filter((phrase) => phrase.length > 0);

const wordsIn = (text: string): string[] => text.split(/\s+/).filter(Boolean);
