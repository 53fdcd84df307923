import type { ToolDescriptor } from '@harness/plugin-kit';
import MiniSearch, { type SearchResult } from 'minisearch';
import { type Concept, conceptsOf } from './concepts.ts';
import { loadSayings, type Sayings } from './sayings.ts';
import { stemOf, wholeWordsOf, wordsOf } from './words.ts';

/** Finds tools by words. */
export interface ToolIndex {
  /** The best fitting ones of these tools, best first. */
  search(query: string, among: ReadonlyMap<string, ToolDescriptor>, limit: number): ToolDescriptor[];
  /** Brings the index up to date with all tools, in pieces, so that the gateway serves others meanwhile. */
  update(tools: readonly ToolDescriptor[]): Promise<void>;
}

/** Words of a description that are indexed, characters: what is said later says little about what a tool is for. */
const maxDescription = 2_000;
const maxSummary = 200;
/** Weights beside a word of the question: of a synonym, of one for a word that no tool has, and of a part of a name. */
const [synonymWeight, onlyWeight, partWeight] = [0.45, 0.65, 0.25];
const weakWeight = 0.3;
/** How much more tools count whose plugin the question names. */
const namedWeight = 1.4;
/** How much less tools count that change something, when the question asks for something to read. */
const changingWeight = 0.6;
/** Tools that are indexed without a pause: some milliseconds. */
const chunkTools = 25;
/** Parameters of one tool. */
const maxParameters = 50;

interface Entry {
  id: string;
  plugin: string;
  /** Without the plugin. */
  name: string;
  title: string;
  /** The first sentence of the description. */
  summary: string;
  description: string;
  parameters: string;
}

/**
 * Creates an empty index: full-text search over names, titles, descriptions and parameters, with prefixes and slips of the pen. A
 * tool counts for each thing that is asked for by the word of it that fits best, whether the question's own or a synonym.
 */
export function createToolIndex(): ToolIndex {
  const known = new Map<string, ToolDescriptor>();
  const names = new Map<string, ToolNames>();
  const index = new MiniSearch<Entry>({
    fields: ['plugin', 'name', 'title', 'summary', 'description', 'parameters'],
    tokenize: wordsOf,
    processTerm: stemOf,
    searchOptions: {
      boost: { plugin: 6, name: 5, title: 1.5, summary: 3, description: 0.7, parameters: 0.4 },
      weights: { prefix: 0.5, fuzzy: 0.15 },
      bm25: { k: 1.2, b: 0.8, d: 0.3 },
    },
  });
  const prefix = (term: string) => term.length > 3;
  const fuzzy = (term: string) => (term.length > 5 ? 0.15 : false);
  /** Scores for the words of sayings and synonyms, kept because they are few; of all tools, also those that the caller may not use. */
  const ofKnown = new Map<string, Score[]>();
  const scoresOfKnown = (word: string): Score[] => {
    const scores = ofKnown.get(word) ?? index.search(word, { prefix }).map(scoreOf);
    ofKnown.set(word, scores);
    return scores;
  };
  /** The scores of tools for one thing that is asked for. */
  const scoresOf = ({ word, meaning, parts, synonyms }: Concept, among: ReadonlyMap<string, unknown>) => {
    const scores = new Map<string, number>();
    for (const meant of meaning)
      for (const { id, score } of scoresOfKnown(meant))
        if (among.has(id)) scores.set(id, (scores.get(id) ?? 0) + score);
    const note = (found: readonly Score[], weight: number) => {
      for (const { id, score } of found)
        if (among.has(id)) scores.set(id, Math.max(scores.get(id) ?? 0, score * weight));
    };
    const own = word === null ? [] : index.search(word, { prefix, fuzzy });
    note(own.map(scoreOf), 1);
    for (const part of parts) note(index.search(part, { prefix }).map(scoreOf), partWeight);
    const isKnown = own.some(({ id, match }) => among.has(String(id)) && Object.hasOwn(match, word ?? ''));
    for (const synonym of synonyms) note(scoresOfKnown(synonym), isKnown ? synonymWeight : onlyWeight);
    return scores;
  };
  let sayings: Sayings | undefined;
  let updating = Promise.resolve();
  const bringUpToDate = async (tools: readonly ToolDescriptor[]) => {
    const now = new Map(tools.map((tool) => [tool.name, tool]));
    for (const [name, tool] of known) {
      // Descriptors are frozen and kept: another object is another description.
      if (now.get(name) === tool) continue;
      index.discard(name);
      known.delete(name);
      names.delete(name);
    }
    const added = tools.filter(({ name }) => !known.has(name));
    for (const tool of added) {
      known.set(tool.name, tool);
      names.set(tool.name, namesOf(tool.name));
    }
    await index.addAllAsync(added.map(entryOf), { chunkSize: chunkTools });
    ofKnown.clear();
  };
  return {
    update(tools) {
      updating = updating.then(() => bringUpToDate(tools));
      return updating;
    },
    search(query, among, limit) {
      // Read at the first search: many gateways never search.
      sayings ??= loadSayings();
      const concepts = conceptsOf(query, sayings);
      const total = new Map<string, { score: number; matched: number }>();
      for (const concept of concepts) {
        const weight = concept.isWeak ? weakWeight : 1;
        for (const [id, score] of scoresOf(concept, among)) {
          const before = total.get(id) ?? { score: 0, matched: 0 };
          total.set(id, { score: before.score + score * weight, matched: before.matched + 1 });
        }
      }
      const named = new Set(wholeWordsOf(query.toLowerCase()));
      const isReading = asking.test(query);
      const weightOf = (id: string) => {
        const { plugin, isChanging } = names.get(id) as ToolNames;
        return (named.has(plugin) ? namedWeight : 1) * (isReading && isChanging ? changingWeight : 1);
      };
      return [...total]
        .map(([id, { score, matched }]) => {
          // A tool that fits much of the question comes before one that fits a rare word of it very well.
          const coverage = Math.sqrt(matched / concepts.length);
          return { id, score: score * coverage * weightOf(id) };
        })
        .sort((one, other) => other.score - one.score)
        .slice(0, limit)
        .map(({ id }) => among.get(id) as ToolDescriptor);
    },
  };
}

interface Score {
  id: string;
  score: number;
}
const scoreOf = ({ id, score }: SearchResult): Score => ({ id: String(id), score });

/** A question for something to read. */
const asking =
  /^\s*(?:which|what|who|whose|where|when|why|how|is|are|was|were|did|does|do|has|have|can|will)\b/i;
/** Names of tools that change something, perhaps after the name of their service. */
const changing =
  /^(?:[a-z]+[_-])?(?:add|approve|archive|cancel|copy|create|delete|disable|drop|edit|enable|fork|insert|manage|mark|merge|move|patch|play|post|publish|push|put|remove|rename|resize|restore|send|set|transfer|unarchive|update|upload)/;

/** What the name of a tool says. */
interface ToolNames {
  /** In lower case. */
  plugin: string;
  isChanging: boolean;
}

function namesOf(qualified: string): ToolNames {
  const at = qualified.indexOf('__');
  const own = at < 0 ? qualified : qualified.slice(at + 2);
  const name = own
    .replace(/^API-/, '')
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase();
  return { plugin: at < 0 ? '' : qualified.slice(0, at).toLowerCase(), isChanging: changing.test(name) };
}

function entryOf({ name, title = '', description = '', inputSchema }: ToolDescriptor): Entry {
  const { properties } = inputSchema as { properties?: Record<string, { description?: unknown }> };
  const parameters = Object.entries(properties ?? {})
    .slice(0, maxParameters)
    .map(
      ([key, schema]) =>
        `${key} ${typeof schema?.description === 'string' ? schema.description.slice(0, 200) : ''}`,
    );
  const at = name.indexOf('__');
  const text = description.slice(0, maxDescription);
  const [summary = ''] = text.slice(0, maxSummary).split(/(?<=[.!?])\s|\n/, 1);
  return {
    id: name,
    plugin: at < 0 ? '' : name.slice(0, at),
    name: at < 0 ? name : name.slice(at + 2),
    title,
    summary,
    description: text.slice(summary.length),
    parameters: parameters.join(' '),
  };
}
