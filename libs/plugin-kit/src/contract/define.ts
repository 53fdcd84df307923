import { AppError } from '@harness/contracts';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import { z } from 'zod';
import { createLinearPattern } from '../schema/linear-pattern.ts';
import type {
  MaybePromise,
  PluginContext,
  PluginDefinition,
  PluginTool,
  PluginToolMeta,
  ToolReturn,
} from './contract.ts';

/** Declares a plugin; gives the types and returns it as it is. */
export const definePlugin = (definition: PluginDefinition): PluginDefinition => definition;

/** A tool whose input is described by Zod: `schema` is made from it, and the handler gets what Zod parsed. */
export interface ZodTool<Input extends z.ZodType> extends Omit<PluginTool, 'schema' | 'handler'> {
  input: Input;
  handler(ctx: PluginContext, input: z.output<Input>, meta: PluginToolMeta): MaybePromise<ToolReturn>;
}

/**
 * Declares a tool, with `input` (Zod) or `schema` (plain JSON Schema).
 * Throws where Zod has no JSON Schema for the input (dates, maps, functions).
 */
export function defineTool<Input extends z.ZodType>(tool: ZodTool<Input>): PluginTool;
export function defineTool(tool: PluginTool): PluginTool;
export function defineTool<Input extends z.ZodType>(tool: ZodTool<Input> | PluginTool): PluginTool {
  if (!('input' in tool)) return tool;
  const { input, handler, ...rest } = tool;
  return {
    ...rest,
    schema: schemaOf(input),
    // Ajv has checked the shape by now; Zod brings defaults, transforms, and rules that JSON Schema cannot say.
    handler: async (ctx, raw, meta) => handler(ctx, await parseInput(input, raw), meta),
  };
}

/**
 * Zod names formats that no validator of JSON Schema knows (emoji, cuid…), and gives patterns with them, some with
 * look-around (hostname, duration…). What could not be checked here is left out: Zod checks all of them.
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
    return false; // the reason is for authors, and this pattern is Zod's
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
