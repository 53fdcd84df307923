/** The catalog of what plugins offer to MCP clients besides tools: resources, templates and prompts. */
import { AppError, cleanJsonTextOf } from '@harness/contracts';
import { z } from 'zod';
import type {
  CompletionValues,
  EmbeddedResource,
  InputRequired,
  PluginContext,
  PluginDefinition,
  PluginPrompt,
  PluginRequestMeta,
  PluginResource,
  PluginResourceTemplate,
  PromptMessage,
  PromptResult,
} from '../contract/contract.ts';
import { parseUriTemplate, type UriTemplate } from '../load/uri-template.ts';
import { textOf } from '../text-of.ts';
import { acceptInputRequired, isInputRequired } from '../tools/input-required.ts';
import { type Given, requestMetaOf } from '../tools/request-meta.ts';
import { withTimeLimit } from '../tools/time-limit.ts';
import { ContentBlock, ResourceContents } from '../tools/tool-result.ts';
import { qualifiedNameOf } from './collect.ts';

/** A resource as clients see it. */
export type ResourceDescriptor = Pick<PluginResource, 'uri' | 'name' | 'title' | 'description' | 'mimeType'>;
/** A resource template as clients see it. */
export type TemplateDescriptor = Omit<ResourceDescriptor, 'uri'> & { uriTemplate: string };
/** A prompt as clients see it; `name` is the qualified name. */
export interface PromptDescriptor extends Pick<PluginPrompt, 'name' | 'title' | 'description'> {
  arguments: { name: string; title?: string; description?: string; required?: boolean }[];
}

/** What a plugin says of its tools, with their names as clients see them. */
export interface PluginInstructions {
  pluginName: string;
  tools: readonly string[];
  text: string;
}

/** A request for completions: of an argument of a prompt, or of a variable of a template. */
export interface Completion {
  ref: { prompt: string } | { uriTemplate: string };
  argument: { name: string; value: string };
  /** The arguments that are chosen already. */
  others: Readonly<Record<string, string>>;
}

/** An immutable snapshot. Its handlers have 60 s and may return at most 10 MiB as JSON. */
export interface ServedCatalog {
  readonly resources: readonly ResourceDescriptor[];
  readonly templates: readonly TemplateDescriptor[];
  readonly prompts: readonly PromptDescriptor[];
  readonly instructions: readonly PluginInstructions[];
  /** Rejects with `resource_not_found`, `tool_timeout`, `tool_failed` for a malformed result, or the handler's error. */
  read(uri: string, meta: Given<PluginRequestMeta>): Promise<EmbeddedResource[] | InputRequired>;
  /** Rejects like `read`, with `prompt_not_found`, and with `invalid_request` for missing arguments. */
  prompt(
    name: string,
    args: Readonly<Record<string, string>>,
    meta: Given<PluginRequestMeta>,
  ): Promise<PromptResult | InputRequired>;
  /** Empty without a completer. Rejects with `prompt_not_found` or `resource_not_found`. */
  complete(completion: Completion): Promise<CompletionValues>;
  /** Notifies the owner of a resource that a client has subscribed to it. Rejects with the owner's error. */
  subscribe(uri: string): Promise<void>;
}

type Owned<Part> = { part: Part; plugin: PluginDefinition };

const timeoutMs = 60_000;
/** Limit of a result as JSON. Larger ones are refused, not cut like tool results: half a file is a different file. */
const maxServedBytes = 10 * 1024 * 1024;
const Contents = z.array(ResourceContents);
const Messages = z.array(z.looseObject({ role: z.enum(['user', 'assistant']), content: ContentBlock }));
const Prompted = z.looseObject({ messages: Messages, description: z.string().optional() });

/** Builds the catalog. When two plugins offer the same URI or prompt name, the first one keeps it. */
export function createServedCatalog(
  plugins: readonly PluginDefinition[],
  contextOf: (pluginName: string) => PluginContext,
): ServedCatalog {
  const resources = new Map<string, Owned<PluginResource>>();
  const templates: (Owned<PluginResourceTemplate> & { template: UriTemplate })[] = [];
  const prompts = new Map<string, Owned<PluginPrompt>>();
  for (const plugin of plugins) {
    for (const part of plugin.resources ?? [])
      if (!resources.has(part.uri)) resources.set(part.uri, { part, plugin });
    for (const part of plugin.resourceTemplates ?? [])
      templates.push({ part, plugin, template: templateOf(part) });
    for (const part of plugin.prompts ?? []) {
      const name = qualifiedNameOf(plugin, part.name);
      if (!prompts.has(name)) prompts.set(name, { part, plugin });
    }
  }
  const byRank = templates.toSorted(({ part: one }, { part: other }) => rankOf(other) - rankOf(one));
  const noResource = (uri: string) =>
    new AppError('resource_not_found', `There is no resource "${uri}".`, { details: { uri } });
  const promptOf = (name: string) => {
    const found = prompts.get(name);
    if (!found) throw new AppError('prompt_not_found', `There is no prompt "${name}".`);
    return found;
  };

  return {
    resources: [...resources.values()].map(({ part }) => {
      const { read: _, onSubscribe: __, tenants: ___, extra, ...descriptor } = part;
      return { ...descriptor, ...extra };
    }),
    templates: templates.map(({ part }) => {
      const {
        read: _,
        complete: __,
        onSubscribe: ___,
        matches: ____,
        isForwarded: _____,
        extra,
        ...descriptor
      } = part;
      return { ...descriptor, ...extra };
    }),
    prompts: [...prompts].map(([name, { part }]) => promptDescriptorOf(name, part)),
    instructions: plugins.flatMap(({ instructions: text, ...plugin }) => {
      if (text === undefined) return [];
      const tools = (plugin.tools ?? []).map(({ name }) => qualifiedNameOf(plugin, name));
      return [{ pluginName: plugin.name, tools, text }];
    }),
    async read(uri, given) {
      const found = resources.get(uri);
      if (found) {
        const ctx = contextOf(found.plugin.name);
        const returned = await limited(given, (meta) => found.part.read(ctx, meta));
        return contentsOf(returned, uri, found.part.mimeType);
      }
      for (const { part, plugin, template } of byRank) {
        const variables = template.match(uri);
        if (!variables) continue;
        const ctx = contextOf(plugin.name);
        const returned = await limited(given, (meta) => part.read(ctx, uri, variables, meta));
        return contentsOf(returned, uri, part.mimeType);
      }
      throw noResource(uri);
    },
    async prompt(name, args, given) {
      const { part, plugin } = promptOf(name);
      const missing = part.arguments?.filter(
        ({ name: arg, required }) => required && !Object.hasOwn(args, arg),
      );
      if (missing?.length) {
        const names = missing.map((one) => one.name).join(', ');
        throw new AppError('invalid_request', `The prompt "${name}" needs the arguments: ${names}.`);
      }
      const ctx = contextOf(plugin.name);
      const returned = await limited(given, (meta) => part.get(ctx, args, meta));
      if (isInputRequired(returned)) return returned;
      if (typeof returned === 'string')
        return checkedPrompt({ messages: [{ role: 'user', content: { type: 'text', text: returned } }] });
      if (Array.isArray(returned)) return { messages: checked(Messages, returned) as PromptMessage[] };
      return checkedPrompt(returned);
    },
    async complete({ ref, argument, others }) {
      const completers =
        'prompt' in ref
          ? new Map((promptOf(ref.prompt).part.arguments ?? []).map(({ name, complete }) => [name, complete]))
          : new Map(
              Object.entries(
                templates.find(({ part }) => part.uriTemplate === ref.uriTemplate)?.part.complete ?? {},
              ),
            );
      if ('uriTemplate' in ref && !templates.some(({ part }) => part.uriTemplate === ref.uriTemplate))
        throw noResource(ref.uriTemplate);
      const found = await limited(
        {},
        async () => (await completers.get(argument.name)?.(argument.value, others)) ?? [],
      );
      return Array.isArray(found) ? { values: found, total: found.length } : found;
    },
    async subscribe(uri) {
      const exact = resources.get(uri);
      const found = exact ?? byRank.find(({ template }) => template.match(uri));
      if (!found) return;
      await limited({}, () => found.part.onSubscribe?.(contextOf(found.plugin.name), uri));
    },
  };
}

/** Which of several templates that match a URI has it: a plugin's before one of another server, then the one with more fixed text. */
const rankOf = ({ uriTemplate, isForwarded }: PluginResourceTemplate): number =>
  (isForwarded ? 0 : 1_000_000) + uriTemplate.replace(/\{[^}]*\}/g, '').length;

/** The rule by which a URI is one of a template's: the author's own, or that of the template. */
function templateOf({ uriTemplate, matches }: PluginResourceTemplate): UriTemplate {
  if (!matches) return parseUriTemplate(uriTemplate);
  return { match: (uri) => (matches(uri) ? {} : undefined) };
}

const checkedPrompt = (returned: PromptResult) => checked(Prompted, returned) as PromptResult;

/** Runs a handler with a meta and a time limit. Throws if it asks the client for input that the client cannot give. */
async function limited<T>(
  given: Given<PluginRequestMeta>,
  run: (meta: PluginRequestMeta) => T | Promise<T>,
): Promise<T> {
  const timeoutError = () => new AppError('tool_timeout', `The plugin took longer than ${timeoutMs} ms.`);
  const limit = { timeoutMs, timeoutError, signal: given.signal };
  const returned = await withTimeLimit<T>(limit, (signal) => run(requestMetaOf(given, signal)));
  return isInputRequired(returned)
    ? (acceptInputRequired(returned, given.capabilities ?? {}) as T)
    : returned;
}

function contentsOf(
  returned: string | EmbeddedResource[] | InputRequired,
  uri: string,
  mimeType: string | undefined,
): EmbeddedResource[] | InputRequired {
  if (isInputRequired(returned)) return returned;
  const contents =
    typeof returned === 'string'
      ? [{ uri, ...(mimeType === undefined ? {} : { mimeType }), text: returned }]
      : returned;
  return checked(Contents, contents) as EmbeddedResource[];
}

/** Throws `tool_failed` for a value that has the wrong shape, is not JSON, or is too large. */
function checked<T>(schema: z.ZodType<T>, returned: unknown): T {
  const parsed = schema.safeParse(returned);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const where = issue ? ` (${issue.path.join('.')}: ${issue.message})` : '';
    throw new AppError('tool_failed', `The plugin returned a value of the wrong shape${where}.`);
  }
  const json = jsonTextOf(parsed.data);
  const bytes = Buffer.byteLength(json);
  if (bytes <= maxServedBytes) return JSON.parse(json) as T; // cleaned
  throw new AppError(
    'tool_failed',
    `The plugin returned ${bytes} bytes as JSON; at most ${maxServedBytes} are allowed.`,
  );
}

function jsonTextOf(value: unknown): string {
  try {
    return cleanJsonTextOf(value);
  } catch (thrown) {
    throw new AppError('tool_failed', `The plugin returned a value that is not JSON: ${textOf(thrown)}`);
  }
}

function promptDescriptorOf(
  name: string,
  { title, description, extra, ...rest }: PluginPrompt,
): PromptDescriptor {
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    arguments: (rest.arguments ?? []).map(({ complete: _, ...argument }) => argument),
    ...extra,
  };
}
