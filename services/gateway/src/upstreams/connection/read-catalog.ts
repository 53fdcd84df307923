import { isDeeperThan } from '@harness/contracts';
import { invisibleIn } from '@harness/plugin-kit';
import type { Connection } from './connect.ts';
import { createTurns } from './line-budget.ts';
import type { RawResult } from './request.ts';

/** Everything that an upstream offers, as it sends it. Plain JSON. */
export interface Catalog {
  tools: RawResult[];
  resources: RawResult[];
  resourceTemplates: RawResult[];
  prompts: RawResult[];
  /** Whether arguments can be completed. */
  completes: boolean;
  /** What was left out, and why. */
  problems: string[];
}

/** Pages of one list; a list may go in circles. */
const maxPages = 500;
/** Items of the other lists; that of the tools is set in the file. */
const maxItems = 5_000;
/** All lists together, bytes of JSON. */
const maxBytes = 20 * 1024 * 1024;
/** One item, bytes of JSON: no model reads a larger one. */
const maxItemBytes = 128 * 1024;
const maxDepth = 100;
/** Problems that are kept: one for each bad item would be as long as the list. */
const maxProblems = 50;

/**
 * Reads all lists within bounds: at most `maxTools` tools, and at most `timeoutMs` for each page. What is too large, has no name,
 * or has invisible characters is left out, with a problem. Rejects when the upstream does not answer.
 */
export async function readCatalog(
  connection: Connection,
  { maxTools, timeoutMs, signal }: { maxTools: number; timeoutMs: number; signal: AbortSignal },
): Promise<Catalog> {
  const { capabilities } = connection;
  const problems: string[] = [...(connection.problems ?? [])].slice(0, maxProblems);
  let bytesLeft = maxBytes;
  const turnEnds = createTurns();
  const problem = (text: string) => {
    if (problems.length < maxProblems) problems.push(text);
  };

  const read = async (list: ListKind, most: number) => {
    const { method, field, id, word } = list;
    const kept: RawResult[] = [];
    const seen = new Set<string>();
    let hidden = 0;
    let cursor: unknown;
    for (let page = 0; page < maxPages; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const result = await connection.request(method, params, { timeoutMs, signal });
      const items = Array.isArray(result[field]) ? (result[field] as unknown[]) : [];
      for (const item of items) {
        await turnEnds();
        const why = refusalOf(item, id);
        if (why !== undefined) {
          problem(`${word} ${nameOf(item, id)} is left out: ${why}`);
          continue;
        }
        const known = item as RawResult;
        const bytes = Buffer.byteLength(JSON.stringify(known));
        if (kept.length >= most || bytes > bytesLeft) hidden += 1;
        else {
          bytesLeft -= bytes;
          kept.push(known);
        }
      }
      const next = result.nextCursor;
      if (typeof next !== 'string') break;
      if (seen.has(next)) {
        problem(`the list of ${word}s goes in circles; what came before is used`);
        break;
      }
      seen.add(next);
      cursor = next;
      if (hidden > most + maxItems) break; // it may have no end
    }
    if (hidden > 0) problem(`${hidden} more ${word}s are left out: at most ${most} are offered`);
    return kept;
  };

  const none: RawResult[] = [];
  return {
    tools: capabilities.tools ? await read(lists.tools, maxTools) : none,
    resources: capabilities.resources ? await read(lists.resources, maxItems) : none,
    resourceTemplates: capabilities.resources ? await readTemplates(read) : none,
    prompts: capabilities.prompts ? await read(lists.prompts, maxItems) : none,
    completes: capabilities.completions !== undefined,
    problems,
  };
}

interface ListKind {
  method: string;
  field: string;
  /** The field that identifies an item. */
  id: string;
  word: string;
}

const lists = {
  tools: { method: 'tools/list', field: 'tools', id: 'name', word: 'tool' },
  resources: { method: 'resources/list', field: 'resources', id: 'uri', word: 'resource' },
  resourceTemplates: {
    method: 'resources/templates/list',
    field: 'resourceTemplates',
    id: 'uriTemplate',
    word: 'resource template',
  },
  prompts: { method: 'prompts/list', field: 'prompts', id: 'name', word: 'prompt' },
} as const satisfies Record<string, ListKind>;

/** Many servers with resources have no templates, and no such method. */
async function readTemplates(read: (list: ListKind, most: number) => Promise<RawResult[]>) {
  try {
    return await read(lists.resourceTemplates, maxItems);
  } catch (error) {
    if ((error as { code?: unknown }).code === -32601) return [];
    throw error;
  }
}

function refusalOf(item: unknown, id: string): string | undefined {
  if (typeof item !== 'object' || item === null) return 'it is no object';
  const { [id]: name, inputSchema } = item as RawResult;
  if (typeof name !== 'string' || name === '') return `it has no ${id}`;
  if (isDeeperThan(maxDepth, item)) return `it is nested deeper than ${maxDepth} levels`;
  const bytes = Buffer.byteLength(JSON.stringify(item));
  if (bytes > maxItemBytes) return `it has ${bytes} bytes; at most ${maxItemBytes} are read`;
  if (id === 'name' && inputSchema !== undefined && (typeof inputSchema !== 'object' || inputSchema === null))
    return 'its input schema is no object';
  const unseen = invisibleIn(item);
  return unseen && `it has an invisible character, which models read and people do not see: ${unseen}`;
}

function nameOf(item: unknown, id: string): string {
  const name = (item as RawResult | null)?.[id];
  return typeof name === 'string' ? JSON.stringify(name.slice(0, 100)) : 'without a name';
}
