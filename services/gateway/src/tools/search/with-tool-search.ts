/**
 * Thousands of tools: a caller that searches gets a short list of core tools, and finds and calls the others with two tools of the
 * gateway. Rights, audit and metrics are those of the tool that is called.
 *
 *   check-own-input.ts       the input of the two tools
 *   tool-index.ts            full-text search over tools
 *   concepts.ts              what a question asks for
 *   words.ts                 the words of texts
 *   synonyms.ts              words that mean the same
 *   sayings.ts               what people say and what tools call it (sayings.txt)
 *   publish-listed-tools.ts  tells the workers how many tools sessions list
 */
import { AppError } from '@harness/contracts';
import { failedResultOf, type PluginHost, type ToolDescriptor, type ToolResult } from '@harness/plugin-kit';
import { builtInPlugins, skillPluginName } from '@harness/plugins';
import type { Caller } from '../../http/credentials/authenticate.ts';
import type { ToolCall } from '../tool-call.ts';
import type { ToolCalls } from '../tool-calls.ts';
import { createOwnInputCheck } from './check-own-input.ts';
import { createToolIndex } from './tool-index.ts';

/** Who searches: `auto` = sessions whose tools have too many names; `on` = all sessions; `off` = none. Outside callers search if they ask. */
export type ToolSearchMode = 'auto' | 'on' | 'off';

/**
 * Above this, the names alone cost a model too much, characters: the Agent SDK's own search puts all of them into the first request,
 * as lines with a prefix. With all else, a request then has 4,900 tokens.
 */
const maxNameChars = 13_000;
const charsAround = 'mcp__harness__\n'.length;
/**
 * Above this, a session loads tools when it needs them, by the Agent SDK's own search: the worker turns it on, and these lists name
 * the tools that are loaded at once.
 */
export const someTools = 50;
const [defaultLimit, maxLimit] = [5, 20];
/** Schemas of one answer, characters; beyond it only names and descriptions. */
const maxSchemaChars = 60_000;

const searchTool: ToolDescriptor = Object.freeze({
  name: 'tools__search',
  title: 'Find tools',
  description:
    'Finds tools by what they do, and returns their names, descriptions and input schemas. There are many more tools than are listed: search before you say that something cannot be done. Then call one with tools__call.',
  inputSchema: {
    type: 'object',
    properties: {
      query: {
        type: 'string',
        minLength: 1,
        maxLength: 1_000,
        description:
          'Words that its description may have: the service, what to do, with what, and synonyms, like “github list open issues bugs”',
      },
      limit: { type: 'integer', minimum: 1, maximum: maxLimit, description: `Default ${defaultLimit}` },
    },
    required: ['query'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true },
});
const callTool: ToolDescriptor = Object.freeze({
  name: 'tools__call',
  title: 'Call a tool',
  description: 'Calls a tool that tools__search has found.',
  inputSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 128, description: 'As tools__search returned it' },
      arguments: { type: 'object', description: 'The input of the tool, as its schema says' },
    },
    required: ['name'],
    additionalProperties: false,
  },
});
const own: readonly ToolDescriptor[] = [searchTool, callTool];

/** Plugins whose tools are always listed: those that sessions cannot work without. */
const corePlugins = new Set(
  builtInPlugins.map(({ name }) => name).filter((name) => name !== skillPluginName),
);

const isCore = ({ name }: ToolDescriptor) => corePlugins.has(name.split('__', 1)[0] ?? '');
const alwaysLoad = Object.freeze({ 'anthropic/alwaysLoad': true });
/** The tool marked so that the Agent SDK's own search, where it is on, loads it at once. */
const loadedAtOnce = (tool: ToolDescriptor): ToolDescriptor => Object.freeze({ ...tool, _meta: alwaysLoad });

/** Whether the gateway searches among these tools of a session, by default. */
export const isMany = (tools: readonly ToolDescriptor[]): boolean =>
  tools.reduce((chars, { name }) => chars + name.length + charsAround, 0) > maxNameChars;

/**
 * The number of tools by which workers turn on the Agent SDK's own search; 0 = sessions do not search. It is of all tools also where
 * the gateway searches: a session that may use fewer may list them all, and the SDK's search costs nothing where all is loaded at once.
 */
export function listedCountOf(tools: readonly ToolDescriptor[], mode: ToolSearchMode): number {
  return mode === 'off' ? 0 : tools.length;
}

/** Adds the search to the tool calls of a gateway. */
export function withToolSearch(
  calls: ToolCalls,
  { plugins, mode }: { plugins: PluginHost; mode: ToolSearchMode },
): ToolCalls {
  const index = createToolIndex();
  const refusalOf = createOwnInputCheck(own);
  let indexed: object | null = null;
  let updated: Promise<void> | undefined;
  const shortLists = new WeakMap<readonly ToolDescriptor[], readonly ToolDescriptor[]>();
  const bytes = new WeakMap<readonly ToolDescriptor[], Buffer>();
  const byName = new WeakMap<readonly ToolDescriptor[], ReadonlyMap<string, ToolDescriptor>>();

  const many = new WeakMap<readonly ToolDescriptor[], boolean>();
  const searches = (caller: Caller, tools: readonly ToolDescriptor[]): boolean => {
    if (!caller.session) return caller.search === true;
    if (mode !== 'auto') return mode === 'on';
    const known = many.get(tools) ?? isMany(tools);
    many.set(tools, known);
    return known;
  };
  const shortListOf = (tools: readonly ToolDescriptor[]): readonly ToolDescriptor[] => {
    const known = shortLists.get(tools);
    if (known) return known;
    const short = Object.freeze([...own, ...tools.filter(isCore)].map(loadedAtOnce));
    shortLists.set(tools, short);
    return short;
  };
  const list: ToolCalls['list'] = (caller) => {
    const tools = calls.list(caller);
    if (searches(caller, tools)) return shortListOf(tools);
    return caller.session && mode !== 'off' && tools.length > someTools ? markedOf(tools) : tools;
  };
  const marked = new WeakMap<readonly ToolDescriptor[], readonly ToolDescriptor[]>();
  /** The same list with core tools marked. */
  const markedOf = (tools: readonly ToolDescriptor[]): readonly ToolDescriptor[] => {
    const known =
      marked.get(tools) ?? Object.freeze(tools.map((tool) => (isCore(tool) ? loadedAtOnce(tool) : tool)));
    marked.set(tools, known);
    return known;
  };
  const namesOf = (tools: readonly ToolDescriptor[]) => {
    const known = byName.get(tools) ?? new Map(tools.map((tool) => [tool.name, tool]));
    byName.set(tools, known);
    return known;
  };
  const search = async (caller: Caller, input: unknown): Promise<ToolResult> => {
    const { query, limit = defaultLimit } = input as { query: string; limit?: number };
    const { toolServer } = plugins;
    if (toolServer && indexed !== toolServer) {
      indexed = toolServer;
      updated = index.update(toolServer.list());
    }
    await updated;
    return foundResult(index.search(query, namesOf(calls.list(caller)), limit));
  };

  return {
    ...calls,
    list,
    listBytes(caller) {
      const tools = list(caller);
      if (tools === calls.list(caller)) return calls.listBytes(caller);
      const known = bytes.get(tools) ?? Buffer.from(JSON.stringify(tools));
      bytes.set(tools, known);
      return known;
    },
    find: (caller, name) => own.find((tool) => tool.name === name) ?? calls.find(caller, name),
    async call(caller, call) {
      const refusal = refusalOf(call.name, call.arguments);
      if (refusal) return failedResultOf(refusal);
      if (call.name === searchTool.name) return search(caller, call.arguments);
      return calls.call(caller, call.name === callTool.name ? innerCallOf(call) : call);
    },
    async beforeTask(caller, call) {
      const refusal = refusalOf(call.name, call.arguments);
      if (refusal) throw refusal;
      return calls.beforeTask(caller, call.name === callTool.name ? innerCallOf(call) : call);
    },
  };
}

/** The call that a valid `tools__call` makes. */
function innerCallOf(call: ToolCall): ToolCall {
  const { name, arguments: input = {} } = call.arguments as { name: string; arguments?: object };
  if (name === callTool.name)
    throw new AppError('invalid_request', '"name" must be the name of a tool, as tools__search returns it.');
  return { ...call, name, arguments: input };
}

function foundResult(found: readonly ToolDescriptor[]): ToolResult {
  if (found.length === 0)
    return answerOf('No tool fits. Try other words: what it acts on, or what it should do.', []);
  let left = maxSchemaChars;
  const tools = found.map(({ name, title, description, inputSchema }) => {
    const size = JSON.stringify(inputSchema).length;
    const fits = size <= left;
    left -= fits ? size : 0;
    return {
      name,
      ...(title !== undefined && { title }),
      description: description ?? '',
      ...(fits
        ? { inputSchema }
        : { note: 'The schema is too long for this answer: search for this name alone.' }),
    };
  });
  return answerOf(`Call one with tools__call: {"name": "${found[0]?.name}", "arguments": {…}}.`, tools);
}

const answerOf = (message: string, tools: object[]): ToolResult => ({
  content: [{ type: 'text', text: JSON.stringify({ message, tools }) }],
  structuredContent: { message, tools },
});
