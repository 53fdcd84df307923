import { synonymsOf } from './synonyms.ts';
import { partsOf, stemOf, wholeWordsOf } from './words.ts';

/** Something that a question asks for: its own word, and other words for it. All are stems. */
export interface Concept {
  word: string;
  /** Parts of the word, where it is a name. */
  parts: readonly string[];
  synonyms: readonly string[];
  /** Verbs that nearly every question has count for less. */
  isWeak: boolean;
}

/** Phrases of people, and the word of APIs for them. */
const phrases: readonly (readonly [RegExp, string])[] = [
  [/\bget(?:ting)? rid of\b/gi, 'delete'],
  [/\bhow many\b|\bnumber of\b/gi, 'count'],
  [/\badd(?:ing)? up\b|\bin total\b/gi, 'aggregate'],
  [/\bPRs?\b/g, 'pull request'],
  [/\bMRs?\b/g, 'merge request'],
  [/\banother\b|\bone more\b/gi, 'new'],
  [/\b(?:on|next|until|by|this) (?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b/g, 'date'],
  [/\bat once\b|\bin one go\b/gi, 'bulk'],
  [/\bto do\b|\bassigned to me\b/gi, 'todo'],
  [/\bvirtual machine\b/gi, 'vm'],
  [/\bmake (?:\w+ )?money\b/gi, 'profit'],
  [/\bgo(?:ing)? back to\b/gi, 'rollback'],
  [/\bnobody but\b|\bonly\b/gi, 'restrict'],
  [/\btell me when\b|\blet me know\b/gi, 'alert'],
  [/\blook(?:ing)? (?:for|up)\b/gi, 'search'],
];

const weak = new Set(
  'find show see make take put get tell want need use go look open run start have give let set do work thing something say know keep come'
    .split(' ')
    .flatMap((word) => stemOf(word) ?? []),
);

/** What a question asks for, each once. */
export function conceptsOf(question: string): Concept[] {
  const plain = phrases.reduce((text, [phrase, word]) => text.replace(phrase, word), question);
  const concepts = new Map<string, Concept>();
  for (const written of wholeWordsOf(plain)) {
    const word = stemOf(written);
    if (word === null || concepts.has(word)) continue;
    const parts = partsOf(written);
    const synonyms = new Set(stemsOf([...synonymsOf(written.toLowerCase()), ...synonymsOf(word)]));
    synonyms.delete(word);
    concepts.set(word, {
      word,
      parts: parts.length > 1 ? stemsOf(parts) : [],
      synonyms: [...synonyms],
      isWeak: weak.has(word),
    });
  }
  return [...concepts.values()];
}

const stemsOf = (words: readonly string[]): string[] => words.flatMap((word) => stemOf(word) ?? []);
