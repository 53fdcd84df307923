/**
 * The tool plane that MCP, REST and sessions all go through. It knows no protocol: the gateway's doors translate.
 * A tool's own failure is a result with `isError`; only a call that reaches no tool rejects.
 */
import { AppError } from '@harness/contracts';
import { boundResult } from './bound-result.ts';
import type { CollectedTool } from './collect.ts';
import type { PluginContext, PluginLogger, ToolInput, ToolResult } from './contract.ts';
import { createDetachedContext, silentLogger } from './detached-context.ts';
import { runTool, type ToolCallMeta } from './run-tool.ts';
import { createSchemaCompiler, readableErrors, type SchemaCheck, type SchemaCompiler } from './schema.ts';
import { descriptorOf, type ToolDescriptor } from './tool-descriptor.ts';
import { failedResultOf } from './tool-result.ts';

/** What one caller may see and call; an absent part restricts nothing. */
export interface ToolView {
  /** Qualified names. */
  tools?: readonly string[] | undefined;
  /** Scopes of the caller's key; a tool with a scope needs it among these. */
  scopes?: readonly string[] | undefined;
}

export interface ToolServer {
  readonly name: 'harness';
  /** Whether the tool is marked not idempotent: the same call must not run twice. */
  runsOnce(name: string): boolean;
  /** Frozen and made once, in plugin order; without a view the same array each time. */
  list(view?: ToolView): readonly ToolDescriptor[];
  /**
   * Never runs the handler on input that its schema refuses (`invalid_tool_input` in `_meta['harness/error']`).
   * Rejects with `tool_not_found`, and with `forbidden` for a tool that `list(view)` does not show.
   */
  call(name: string, input: unknown, meta: ToolCallMeta, view?: ToolView): Promise<ToolResult>;
}

export interface ToolServerDeps {
  contextOf?: (pluginName: string) => PluginContext;
  logger?: PluginLogger;
  /** For tools that state none; 300 000 unless given. */
  defaultTimeoutMs?: number;
  /** Whether a tool is offered at all; every one unless given. */
  admit?: ((descriptor: ToolDescriptor) => boolean) | undefined;
}

interface Entry {
  tool: CollectedTool;
  descriptor: ToolDescriptor;
  checkInput: SchemaCheck;
  checkOutput: SchemaCheck | undefined;
}

/** Null when there is no tool. Throws for tools that never passed `validatePluginExport`: two of one name, a bad schema. */
export function createToolServer(
  collected: readonly CollectedTool[],
  deps: ToolServerDeps = {},
): ToolServer | null {
  if (collected.length === 0) return null;
  const { logger = silentLogger, defaultTimeoutMs = 300_000 } = deps;
  const contextOf = deps.contextOf ?? createDetachedContexts();
  const entries = entriesOf(collected, deps.admit);
  const descriptors = Object.freeze([...entries.values()].map(({ descriptor }) => descriptor));

  return {
    name: 'harness',
    runsOnce: (name) => entries.get(name)?.tool.idempotent === false,
    list: (view) =>
      view ? [...entries.values()].filter(visibleIn(view)).map(({ descriptor }) => descriptor) : descriptors,
    async call(name, input, meta, view = {}) {
      const entry = entries.get(name);
      if (!entry) throw new AppError('tool_not_found', `There is no tool "${name}".`);
      if (!visibleIn(view)(entry)) throw new AppError('forbidden', `The tool "${name}" is not allowed here.`);
      try {
        const timeoutMs = entry.tool.timeoutMs ?? defaultTimeoutMs;
        const ctx = contextOf(entry.tool.pluginName);
        return await runTool({ ...entry, ctx, input: parseInput(entry, input), meta, timeoutMs });
      } catch (thrown) {
        // A model's bad input is everyday; a failing tool is somebody's work.
        const everyday = thrown instanceof AppError && thrown.code === 'invalid_tool_input';
        logger[everyday ? 'debug' : 'warn'](
          { err: thrown, tool: name, threadId: meta.threadId },
          'tool call failed',
        );
        return boundResult(failedResultOf(thrown));
      }
    },
  };
}

function visibleIn({ tools, scopes }: ToolView): (entry: Entry) => boolean {
  const allowed = tools && new Set(tools);
  return ({ tool: { qualifiedName, scope } }) =>
    (!allowed || allowed.has(qualifiedName)) && (!scopes || scope === undefined || scopes.includes(scope));
}

function entriesOf(
  collected: readonly CollectedTool[],
  admit: ToolServerDeps['admit'] = () => true,
): Map<string, Entry> {
  const compilers = new Map<string, SchemaCompiler>();
  const entries = new Map<string, Entry>();
  for (const tool of collected) {
    const { pluginName, qualifiedName } = tool;
    if (entries.has(qualifiedName)) throw new Error(`Two tools are named ${qualifiedName}.`);
    const descriptor = descriptorOf(tool);
    if (!admit(descriptor)) continue;
    const compiler = compilers.get(pluginName) ?? createSchemaCompiler();
    compilers.set(pluginName, compiler);
    entries.set(qualifiedName, {
      tool,
      descriptor,
      checkInput: compiler.compile(descriptor.inputSchema),
      checkOutput: descriptor.outputSchema && compiler.compile(descriptor.outputSchema),
    });
  }
  return entries;
}

/** MCP leaves `arguments` out where a tool takes none. */
function parseInput({ tool, checkInput }: Entry, input: unknown = {}): ToolInput {
  const errors = checkInput(input);
  if (errors.length === 0) return input as ToolInput;
  const message = `The input of ${tool.qualifiedName} is not valid:\n${readableErrors(errors)}`;
  throw new AppError('invalid_tool_input', message, { details: errors });
}

/** One per plugin, so that two plugins never share a store. */
function createDetachedContexts(): (pluginName: string) => PluginContext {
  const contexts = new Map<string, PluginContext>();
  return (pluginName) => {
    const ctx = contexts.get(pluginName) ?? createDetachedContext();
    contexts.set(pluginName, ctx);
    return ctx;
  };
}
