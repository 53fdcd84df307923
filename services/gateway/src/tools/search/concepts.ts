import { type SaidAt, type Sayings, sayingsIn } from './sayings.ts';
import { synonymsOf } from './synonyms.ts';
import { partsOf, rootOf, stemOf, wholeWordsOf } from './words.ts';

/** Something that a question asks for: its own words, and other words for it. All are stems. */
export interface Concept {
  /** Of the question; null for a phrase, which means something else than its words. */
  word: string | null;
  /** What a saying means by a phrase: tools count for each of these. */
  meaning: readonly string[];
  /** Parts of the word, where it is a name; words of the phrase. */
  parts: readonly string[];
  /** Tools count for the one that fits best. */
  synonyms: readonly string[];
  /** Verbs that nearly every question has count for less. */
  isWeak: boolean;
}

const weak = new Set(
  'find show see make take put get tell want need use go look open run start have give let set do work thing something say know keep come'
    .split(' ')
    .flatMap((word) => stemOf(word) ?? []),
);

/** Words that questions have and that say nothing of a tool. */
const fillers = new Set(
  'may might must shall both every everything everyone anything anyone hey hi hello please thanks really exactly properly already still yet again ever never anyway maybe also ok okay always whole entire bit stuff quite actually simply quickly lot such kind sort way thing lately without within like'
    .split(' ')
    .flatMap((word) => stemOf(word) ?? []),
);

/** What a question asks for, each once. */
export function conceptsOf(question: string, sayings: Sayings): Concept[] {
  const written = wholeWordsOf(plainOf(question));
  const said = new Map(
    sayingsIn(written.map(rootOf), sayings).flatMap((found) =>
      found.positions.map((position) => [position, found]),
    ),
  );
  const concepts = new Map<string, Concept>();
  for (const [at, word] of written.entries()) {
    const found = said.get(at);
    // A saying stands where its first word does.
    if (found && at !== found.positions[0]) continue;
    const concept = found ? conceptOfSaying(found, written) : conceptOfWord(word);
    if (concept) concepts.set(concept.word ?? concept.meaning.join(' '), concept);
  }
  return [...concepts.values()];
}

const day = /\b(?:on|next|until|by|this) (?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b/g;

/** The question without titles of people and what short forms add (`what's`, `don't`); with `date` for a day, which may be a service too. */
const plainOf = (question: string): string =>
  question
    .replace(day, 'date')
    .replace(/\b(?:Mr|Mrs|Ms|Dr)\b/g, '')
    .replace(/n['’]t\b/gi, ' not')
    .replace(/(\p{L})['’](?:s|ll|ve|re|m|d)\b/giu, '$1');

/** What a word asks for; null for one that says nothing. */
function conceptOfWord(written: string): Concept | null {
  const word = stemOf(written);
  if (word === null || fillers.has(word)) return null;
  const parts = partsOf(written);
  const synonyms = new Set(stemsOf([...synonymsOf(written.toLowerCase()), ...synonymsOf(word)]));
  synonyms.delete(word);
  return {
    word,
    meaning: [],
    parts: parts.length > 1 ? stemsOf(parts) : [],
    synonyms: [...synonyms],
    isWeak: weak.has(word),
  };
}

/** What a saying asks for: a single word may also mean itself. */
function conceptOfSaying({ saying, positions }: SaidAt, written: readonly string[]): Concept | null {
  const { meaning } = saying;
  const own = positions.map((position) => written[position] as string);
  if (own.length === 1) {
    const concept = conceptOfWord(own[0] as string);
    return concept && { ...concept, meaning };
  }
  return {
    word: null,
    meaning,
    parts: stemsOf(own),
    synonyms: [],
    isWeak: meaning.every((word) => weak.has(word)),
  };
}

const stemsOf = (words: readonly string[]): string[] => words.flatMap((word) => stemOf(word) ?? []);
