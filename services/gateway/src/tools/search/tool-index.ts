import type { ToolDescriptor } from '@harness/plugin-kit';
import MiniSearch from 'minisearch';
import { synonymsOf } from './synonyms.ts';

/** Finds tools by words. */
export interface ToolIndex {
  /** The best fitting ones of these tools, best first. */
  search(query: string, among: ReadonlyMap<string, ToolDescriptor>, limit: number): ToolDescriptor[];
  /** Brings the index up to date with all tools, in pieces, so that the gateway serves others meanwhile. */
  update(tools: readonly ToolDescriptor[]): Promise<void>;
}

/** Words of a description that are indexed, characters: what is said later says little about what a tool is for. */
const maxDescription = 2_000;
/** Weight of a synonym beside a word of the query. */
const synonymWeight = 0.25;
/** Tools that are indexed without a pause: some milliseconds. */
const chunkTools = 25;
/** Parameters of one tool. */
const maxParameters = 50;

interface Entry {
  id: string;
  name: string;
  title: string;
  description: string;
  parameters: string;
}

/** Creates an empty index: full-text search over names, titles, descriptions and parameters, with prefixes and slips of the pen. */
export function createToolIndex(): ToolIndex {
  const known = new Map<string, ToolDescriptor>();
  const index = new MiniSearch<Entry>({
    fields: ['name', 'title', 'description', 'parameters'],
    tokenize: wordsOf,
    processTerm: stemOf,
    searchOptions: {
      boost: { name: 4, title: 3, description: 1.5, parameters: 0.5 },
      weights: { prefix: 0.3, fuzzy: 0.1 },
    },
  });
  let updating = Promise.resolve();
  const bringUpToDate = async (tools: readonly ToolDescriptor[]) => {
    const now = new Map(tools.map((tool) => [tool.name, tool]));
    for (const [name, tool] of known) {
      // Descriptors are frozen and kept: another object is another description.
      if (now.get(name) === tool) continue;
      index.discard(name);
      known.delete(name);
    }
    const added = tools.filter(({ name }) => !known.has(name));
    for (const tool of added) known.set(tool.name, tool);
    await index.addAllAsync(added.map(entryOf), { chunkSize: chunkTools });
  };
  return {
    update(tools) {
      updating = updating.then(() => bringUpToDate(tools));
      return updating;
    },
    search(query, among, limit) {
      const asked = wordsOf(query).flatMap((word) => stemOf(word) ?? []);
      const others = asked.flatMap(synonymsOf).flatMap((word) => stemOf(word) ?? []);
      const meant = new Set(asked);
      const found = index.search([...meant, ...new Set(others)].join(' '), {
        filter: ({ id }) => among.has(String(id)),
        // What was said counts more than what it may mean, and finds more.
        boostTerm: (term) => (meant.has(term) ? 1 : synonymWeight),
        prefix: (term) => term.length > 3 && meant.has(term),
        fuzzy: (term) => (term.length > 5 && meant.has(term) ? 0.15 : false),
      });
      return found.slice(0, limit).map(({ id }) => among.get(String(id)) as ToolDescriptor);
    },
  };
}

function entryOf({ name, title = '', description = '', inputSchema }: ToolDescriptor): Entry {
  const { properties } = inputSchema as { properties?: Record<string, { description?: unknown }> };
  const parameters = Object.entries(properties ?? {})
    .slice(0, maxParameters)
    .map(
      ([key, schema]) =>
        `${key} ${typeof schema?.description === 'string' ? schema.description.slice(0, 200) : ''}`,
    );
  return {
    id: name,
    name,
    title,
    description: description.slice(0, maxDescription),
    parameters: parameters.join(' '),
  };
}

/** The words of a text; `createPullRequest`, `create_pull_request` and `create-pull-request` are three words each. */
const wordsOf = (text: string): string[] =>
  text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);

const stopWords = new Set(
  'a an and are as at be by for from how i in is it me my of on or that the this to want what with'.split(
    ' ',
  ),
);

/** A word without the endings that change with its use; null for a word that says nothing. */
function stemOf(word: string): string | null {
  const lower = word.toLowerCase();
  if (stopWords.has(lower)) return null;
  if (lower.length > 4 && lower.endsWith('ies')) return `${lower.slice(0, -3)}y`;
  if (lower.length > 5 && lower.endsWith('ing')) return lower.slice(0, -3);
  if (lower.length > 4 && lower.endsWith('ed')) return lower.slice(0, -2);
  if (lower.length > 3 && lower.endsWith('s') && !lower.endsWith('ss')) return lower.slice(0, -1);
  return lower;
}
