/**
 * Lists and calls tools for MCP, REST and sessions alike. It knows no protocol; the gateway's endpoints translate. A
 * tool's own failure is a result with `isError`; only a call that reaches no tool rejects. A tool server is an immutable
 * snapshot: when the tools change, a new one replaces it, and running calls end on the old one.
 *
 * - `tool-entry.ts`        a tool with its compiled schemas; what one caller may see
 * - `run-tool.ts`          runs one handler
 * - `time-limit.ts`        time limits of plugin code
 * - `request-meta.ts`      the meta of a request, with defaults
 * - `input-required.ts`    requests for input from the client
 * - `aliases.ts`           old names of input properties
 * - `tool-result.ts`       parses return values; failures as results
 * - `bound-result.ts`      bounds the size of a result
 * - `middleware.ts`        the interface of code around every call
 * - `permission-filter.ts` the middleware for allow-lists and scopes
 * - `tool-descriptor.ts`   a tool as clients see it
 * - `tool-lock.ts`         accepted tool descriptions
 * - `canonical-json.ts`    JSON with sorted keys
 */
import { AppError } from '@harness/contracts';
import type {
  InputRequired,
  PluginContext,
  PluginLogger,
  PluginTool,
  ToolInput,
} from '../contract/contract.ts';
import type { CollectedTool } from '../host/collect.ts';
import { createDetachedContext, silentLogger } from '../host/detached-context.ts';
import { isFor, type Offer } from '../host/offer.ts';
import { inputError, maxErrors } from '../schema/readable-errors.ts';
import { createSchemaCompiler, type SchemaCheck, type SchemaCompiler } from '../schema/schema.ts';
import { withoutAliases } from './aliases.ts';
import { boundResult } from './bound-result.ts';
import { acceptInputRequired, isInputRequired } from './input-required.ts';
import type { ToolMiddleware } from './middleware.ts';
import { permissionFilter } from './permission-filter.ts';
import { handlerMetaOf, runTool, type ToolCallMeta, type ToolOutcome, timeLimitOf } from './run-tool.ts';
import { withTimeLimit } from './time-limit.ts';
import { descriptorOf, type ToolDescriptor } from './tool-descriptor.ts';
import type { Entry, ToolView } from './tool-entry.ts';
import { failedResultOf } from './tool-result.ts';

/** A snapshot of the tools. */
export interface ToolServer {
  readonly name: 'harness';
  /** Whether the tool is marked `idempotent: false`: the same call must not run twice. */
  runsOnce(name: string): boolean;
  /** Whether a call may outlive its request; see `PluginTool.task`. */
  taskModeOf(name: string): PluginTool['task'];
  /** In plugin order. Frozen, and computed once for each view. */
  list(view?: ToolView): readonly ToolDescriptor[];
  find(name: string, view?: ToolView): ToolDescriptor | undefined;
  /**
   * Calls a tool. The handler never runs on input that its schema refuses: the result then has `invalid_tool_input` in
   * `_meta['harness/error']`. Rejects with `tool_not_found`, with `forbidden` for a tool that `list(view)` does not show,
   * and with `capability_missing` when the tool asks for input that the client cannot give.
   */
  call(name: string, call: ServerCall): Promise<ToolOutcome>;
  /**
   * Runs the tool's `beforeTask`. Returns its request for input, if any. Rejects like `call`, with `invalid_tool_input`,
   * and with the error of `beforeTask`.
   */
  beforeTask(name: string, call: ServerCall): Promise<InputRequired | undefined>;
}

/** One call of a tool. `input` is not checked yet; `view` is what the caller sees of the tools: all, unless given. */
export interface ServerCall {
  input: unknown;
  meta: ToolCallMeta;
  view?: ToolView | undefined;
}

/** What a tool server needs. */
export interface ToolServerDeps {
  /** Default: a detached context for each plugin. */
  contextOf?: (pluginName: string) => PluginContext;
  logger?: PluginLogger;
  /** Milliseconds, for tools without `timeoutMs`. Default 300 000. */
  defaultTimeoutMs?: number;
  /** Which tenants are offered which plugins. Default: all tenants, all plugins. */
  offer?: Offer | undefined;
  /** Runs in this order before a call and in reverse order after it. The permission filter runs first. */
  middleware?: readonly ToolMiddleware[];
}

const everything: Offer = { isOffered: () => true, differs: false };
/** One object, because views are cached by object. */
const unrestricted: ToolView = {};

interface Shown {
  list: readonly ToolDescriptor[];
  byName: ReadonlyMap<string, ToolDescriptor>;
}

/** Cached views, which differ by key and allow-list. The cache is cleared when it is full. */
const maxViews = 1_000;

/**
 * Creates a tool server; null when there is no tool. Throws if two tools have the same name. A bad schema fails only the
 * calls of its tool.
 */
export function createToolServer(
  collected: readonly CollectedTool[],
  deps: ToolServerDeps = {},
): ToolServer | null {
  if (collected.length === 0) return null;
  const { logger = silentLogger, defaultTimeoutMs = 300_000 } = deps;
  const contextOf = deps.contextOf ?? createDetachedContexts();
  const entries = entriesOf(collected);
  const { offer = everything } = deps;
  const middleware = [permissionFilter(entries, offer), ...(deps.middleware ?? [])];
  const shownIn = createViews(entries, { middleware, differs: offer.differs });
  const before = middleware.filter(({ beforeCall }) => beforeCall);
  const after = middleware.filter(({ afterCall }) => afterCall).toReversed();

  const find = (name: string, view: ToolView): Entry => {
    const entry = entries.get(name);
    if (!entry) throw new AppError('tool_not_found', `There is no tool "${name}".`);
    const { tool } = entry;
    const { tenant } = view;
    if (tenant !== undefined && !(offer.isOffered(tool.pluginName, tenant) && isFor(tool, tenant)))
      throw new AppError('tool_not_found', `There is no tool "${name}".`);
    if (!shownIn(view).byName.has(name))
      throw new AppError('forbidden', `The tool "${name}" is not allowed here.`);
    return entry;
  };
  const run = async (entry: Entry, input: unknown, meta: ToolCallMeta): Promise<ToolOutcome> => {
    const { tool } = entry;
    try {
      const call = { tool: tool.qualifiedName, input: parseInput(entry, input), meta };
      for (const { beforeCall } of before) await beforeCall?.(call);
      const ctx = contextOf(tool.pluginName);
      const timeoutMs = tool.timeoutMs ?? defaultTimeoutMs;
      return await runTool({ ...entry, ctx, input: call.input, meta, timeoutMs });
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === 'capability_missing') throw thrown;
      const source = { tool: tool.qualifiedName, threadId: meta.threadId };
      // Bad input from a model is common and may be confidential, so only the names of the fields are logged.
      if (thrown instanceof AppError && thrown.code === 'invalid_tool_input')
        logger.info({ ...source, fields: fieldsIn(thrown.details) }, 'tool input refused');
      else logger.warn({ ...source, err: thrown }, 'tool call failed');
      return boundResult(failedResultOf(thrown));
    }
  };

  return {
    name: 'harness',
    runsOnce: (name) => entries.get(name)?.tool.idempotent === false,
    taskModeOf: (name) => entries.get(name)?.tool.task,
    list: (view = unrestricted) => shownIn(view).list,
    find: (name, view = unrestricted) => shownIn(view).byName.get(name),
    async call(name, { input, meta, view = unrestricted }) {
      let outcome = await run(find(name, view), input, meta);
      for (const { afterCall } of after) {
        const changed = await afterCall?.({ tool: name, meta }, outcome);
        if (changed) outcome = isInputRequired(changed) ? changed : boundResult(changed);
      }
      return outcome;
    },
    async beforeTask(name, { input, meta, view = unrestricted }) {
      const entry = find(name, view);
      const parsed = parseInput(entry, input);
      const { tool } = entry;
      const limit = timeLimitOf(tool, tool.timeoutMs ?? defaultTimeoutMs, meta.signal);
      const ctx = contextOf(tool.pluginName);
      const asked = await withTimeLimit(limit, (signal) =>
        tool.beforeTask?.(ctx, parsed, handlerMetaOf(meta, { signal, progress: () => undefined })),
      );
      if (!isInputRequired(asked)) return undefined;
      return acceptInputRequired(asked, meta.capabilities ?? {});
    },
  };
}

function createViews(
  entries: ReadonlyMap<string, Entry>,
  { middleware, differs }: { middleware: readonly ToolMiddleware[]; differs: boolean },
) {
  const all = Object.freeze([...entries.values()].map(({ descriptor }) => descriptor));
  const views = new Map<string, Shown>();
  const byObject = new WeakMap<ToolView, Shown>();
  const shownBy = (view: ToolView): Shown => {
    const key = JSON.stringify([view.scopes, view.tools, differs && view.tenant, view.isSession === true]); // not a joined string: names may contain any character
    const known = views.get(key);
    if (known) return known;
    const list = Object.freeze(
      middleware.reduce<readonly ToolDescriptor[]>(
        (tools, { filterTools }) => filterTools?.(tools, view) ?? tools,
        all,
      ),
    );
    const shown = { list, byName: new Map(list.map((tool) => [tool.name, tool])) };
    if (views.size >= maxViews) views.clear();
    views.set(key, shown);
    return shown;
  };
  return (view: ToolView): Shown => {
    const known = byObject.get(view);
    if (known) return known;
    const shown = shownBy(view);
    byObject.set(view, shown);
    return shown;
  };
}

/** Entries by tool object: when one plugin changes, the tools of the others are not compiled again. */
const madeBefore = new WeakMap<CollectedTool, Entry>();

function entriesOf(collected: readonly CollectedTool[]): Map<string, Entry> {
  const compilers = new Map<string, SchemaCompiler>();
  const compilerOf = (pluginName: string): SchemaCompiler => {
    const compiler = compilers.get(pluginName) ?? createSchemaCompiler();
    compilers.set(pluginName, compiler);
    return compiler;
  };
  const entries = new Map<string, Entry>();
  for (const tool of collected) {
    const { pluginName, qualifiedName } = tool;
    if (entries.has(qualifiedName)) throw new Error(`Two tools are named ${qualifiedName}.`);
    const entry = madeBefore.get(tool) ?? entryOf(tool, compilerOf(pluginName));
    madeBefore.set(tool, entry);
    entries.set(qualifiedName, entry);
  }
  return entries;
}

function entryOf(tool: CollectedTool, compiler: SchemaCompiler): Entry {
  const descriptor = descriptorOf(tool);
  const { inputSchema, outputSchema } = descriptor;
  return {
    tool,
    descriptor,
    ...(tool.isForwarded
      ? { checkInput: checkObject, checkOutput: undefined }
      : {
          checkInput: lazily(() => compiler.compile(inputSchema)),
          checkOutput: outputSchema && lazily(() => compiler.compile(outputSchema)),
        }),
  };
}

/** The check of a forwarded tool: its server has the schema, perhaps of a dialect or with keywords that are unknown here. */
const checkObject: SchemaCheck = (value) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? []
    : [{ instancePath: '', keyword: 'type', params: {}, schemaPath: '#/type', message: 'must be object' }];

/** Compiles at the first use: a worker has all tools and calls few, and the validation has compiled the schema before. */
function lazily(compile: () => SchemaCheck): SchemaCheck {
  let check: SchemaCheck | undefined;
  return (value) => {
    check ??= compile();
    return check(value);
  };
}

/** Validates the input. MCP omits `arguments` for a tool without parameters. */
function parseInput({ tool, checkInput }: Entry, given: unknown = {}): ToolInput {
  const input = tool.aliases ? withoutAliases(given, tool.aliases) : given;
  const errors = checkInput(input);
  if (errors.length === 0) return input as ToolInput;
  throw inputError(`The input of ${tool.qualifiedName}`, errors);
}

const fieldsIn = (details: unknown): string[] =>
  (Array.isArray(details) ? (details as { instancePath?: unknown }[]) : [])
    .slice(0, maxErrors)
    .map(({ instancePath }) => String(instancePath));

/** One context per plugin, so that two plugins never share a store. */
function createDetachedContexts(): (pluginName: string) => PluginContext {
  const contexts = new Map<string, PluginContext>();
  return (pluginName) => {
    const ctx = contexts.get(pluginName) ?? createDetachedContext();
    contexts.set(pluginName, ctx);
    return ctx;
  };
}
