/** Helpers that declare plugins, tools and commands with full types. */
import { AppError } from '@harness/contracts';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import { z } from 'zod';
import { createLinearPattern } from '../schema/linear-pattern.ts';
import type {
  MaybePromise,
  PluginCommand,
  PluginContext,
  PluginDefinition,
  PluginTool,
  PluginToolMeta,
  ToolReturn,
} from './contract.ts';

/**
 * Declares a plugin: checks the types and returns the definition unchanged.
 *
 * @example
 * ```ts
 * export const plugin = definePlugin({
 *   name: 'weather',
 *   version: '1.0.0',
 *   tools: [forecast],
 *   register: () => undefined,
 * });
 * ```
 */
export const definePlugin = (definition: PluginDefinition): PluginDefinition => definition;

/**
 * Declares a slash command: checks the types and returns it unchanged.
 *
 * @example
 * ```ts
 * const weather = defineCommand({
 *   name: 'weather',
 *   description: 'Tomorrow’s weather',
 *   argumentHint: '<city>',
 *   execute: (city, _context, ctx) => ctx.invoker.invoke(`Tomorrow’s weather in ${city}?`),
 * });
 * ```
 */
export const defineCommand = (command: PluginCommand): PluginCommand => command;

/**
 * A tool whose input is a Zod schema: `schema` is derived from it, and the handler gets the value that Zod parsed.
 *
 * @example
 * ```ts
 * const input = z.object({ city: z.string() });
 * const forecast: ZodTool<typeof input> = {
 *   name: 'forecast',
 *   description: 'Tomorrow’s weather for a city.',
 *   input,
 *   handler: (_ctx, { city }) => `${city}: sunny`,
 * };
 * ```
 */
export interface ZodTool<Input extends z.ZodType> extends Omit<PluginTool, 'schema' | 'handler'> {
  input: Input;
  handler(ctx: PluginContext, input: z.output<Input>, meta: PluginToolMeta): MaybePromise<ToolReturn>;
}

/**
 * Declares a tool, with `input` (Zod) or `schema` (plain JSON Schema).
 * Throws if Zod cannot express the input as JSON Schema (dates, maps, functions).
 *
 * @example
 * ```ts
 * const forecast = defineTool({
 *   name: 'forecast',
 *   description: 'Tomorrow’s weather for a city.',
 *   input: z.object({ city: z.string().min(1) }),
 *   handler: (_ctx, { city }) => `${city}: sunny`,
 * });
 * ```
 */
export function defineTool<Input extends z.ZodType>(tool: ZodTool<Input>): PluginTool;
export function defineTool(tool: PluginTool): PluginTool;
export function defineTool<Input extends z.ZodType>(tool: ZodTool<Input> | PluginTool): PluginTool {
  if (!('input' in tool)) return tool;
  const { input, handler, ...rest } = tool;
  return {
    ...rest,
    schema: schemaOf(input),
    // Ajv has already checked the shape. Zod adds defaults, transforms, and rules that JSON Schema cannot express.
    handler: async (ctx, raw, meta) => handler(ctx, await parseInput(input, raw), meta),
  };
}

/**
 * Zod emits formats that JSON Schema validators do not know (emoji, cuid…), and patterns with look-around (hostname,
 * duration…), which are refused here. Both are removed from the schema; Zod itself still checks them.
 */
function schemaOf(input: z.ZodType): Record<string, unknown> {
  return z.toJSONSchema(input, {
    target: 'draft-2020-12',
    io: 'input',
    override: ({ jsonSchema }) => {
      const { format, pattern } = jsonSchema;
      if (format === undefined) return;
      if (!Object.hasOwn(fullFormats, format)) delete jsonSchema.format;
      if (pattern !== undefined && !isLinear(pattern)) delete jsonSchema.pattern;
    },
  });
}

function isLinear(pattern: string): boolean {
  try {
    createLinearPattern(pattern);
    return true;
  } catch {
    return false; // the error message is for authors, but this pattern comes from Zod
  }
}

async function parseInput<Input extends z.ZodType>(input: Input, raw: unknown): Promise<z.output<Input>> {
  const parsed = await input.safeParseAsync(raw);
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues.map(({ path, message }) => ({
    instancePath: path.map((part) => `/${String(part)}`).join(''),
    message,
  }));
  const lines = details.map(({ instancePath, message }) => `- ${instancePath || '(input)'}: ${message}`);
  throw new AppError('invalid_tool_input', `The input is not valid:\n${lines.join('\n')}`, { details });
}
