import type { JsonSchema, PluginTool } from '@harness/plugin-kit';
import { createSchemaCompiler, invisibleIn } from '@harness/plugin-kit';
import { z } from 'zod';

/** One file of a skill. */
export interface SkillFile {
  /** Below the skill's folder, with `/`. */
  path: string;
  size: number;
  /** Of its bytes: `sha256:` and hex digits. */
  digest: string;
}

export interface Skill {
  name: string;
  description: string;
  /** Whether it asks to be a slash command; undefined where it does not say. */
  userInvocable: boolean | undefined;
  /** Agents may call it as a tool; otherwise it is for people alone. */
  modelInvocable: boolean;
  /** Qualified names; undefined = all of the session. */
  allowedTools: readonly string[] | undefined;
  argumentHint: string | undefined;
  model: string | undefined;
  /** Schema of its arguments; undefined = one text. */
  parameters: JsonSchema | undefined;
  /** `inline`: its instructions are the answer. `fork`: a sub-agent follows them. */
  context: 'inline' | 'fork';
  instructions: string;
  /** The front matter as written. */
  frontMatter: Record<string, unknown>;
  /** Its entry in the folder of skills, as diagnostics name it. */
  place: string;
  /** Absolute, links resolved. */
  folder: string;
  files: readonly SkillFile[];
  /** Brought as code, named `<skill>_<tool>`. */
  tools: readonly PluginTool[];
}

/** The tool that reads files of skills. No skill has this name, for theirs have no underscore. */
export const readTool = 'read_file';

/** What stands in brackets belongs to the name before it: the `*` of `Bash(git * main)` is not all tools. */
const nameInText = /(?:[^\s,(]|\([^)]*\)?)+/g;

/** A list, or text with commas or spaces between; tools by our names, with or without how Claude Code calls them. */
export const toolNames = z
  .union([z.array(z.string()), z.string().transform((text) => text.match(nameInText) ?? [])])
  .transform((names) => names.map((name) => name.replace(/^mcp__harness__/, '')))
  .optional();

/** `inherit` is how Claude Code says that there is none of its own. */
export const modelName = z
  .string()
  .min(1)
  .max(200)
  .transform((model) => (model === 'inherit' ? undefined : model))
  .optional();

/** What people and models read; what only one of them would see is refused. */
export const visibleText = z
  .string()
  .trim()
  .superRefine((text, context) => {
    const found = invisibleIn(text);
    if (found) context.addIssue(`has an invisible character (${found})`);
  });

/** What is no name of a tool here, said for people: it allows nothing. */
export const foreignNames = (names: readonly string[] = []): string[] =>
  names
    .filter((name) => !name.includes('__') && name !== '*')
    .map((name) => `"${name}" is no tool of this gateway (they are <plugin>__<tool>), and allows nothing`);

/** The Agent Skills format, and what we add to it; unknown fields are others' business. */
export const SkillFields = z.object({
  name: z
    .string()
    .regex(
      /^(?!.*--)[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/,
      'must be lower-case letters, digits and single hyphens',
    ),
  description: visibleText.min(1).max(1024),
  'user-invocable': z.boolean().optional(),
  'disable-model-invocation': z.boolean().default(false),
  'allowed-tools': toolNames,
  'argument-hint': visibleText.max(200).optional(),
  model: modelName,
  parameters: z
    .record(z.string(), z.unknown())
    .superRefine((schema, context) => {
      // Clients refuse a whole list of tools for one that takes anything else.
      if (schema.type !== undefined && schema.type !== 'object')
        context.addIssue(`must describe an object: type is ${JSON.stringify(schema.type)}`);
      const found = invisibleIn(schema);
      if (found) context.addIssue(`has an invisible character (${found})`);
      try {
        createSchemaCompiler().compile(schema);
      } catch (thrown) {
        context.addIssue(`is no JSON Schema: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
      }
    })
    .optional(),
  context: z.enum(['inline', 'fork']).default('inline'),
});

const aliases: Record<string, string> = {
  user_invocable: 'user-invocable',
  disable_model_invocation: 'disable-model-invocation',
  allowed_tools: 'allowed-tools',
  argument_hint: 'argument-hint',
};

/** With the names of the format, whichever spelling was used; where both were, its own counts. */
export const withFormatNames = (data: Record<string, unknown>): Record<string, unknown> => ({
  ...Object.fromEntries(
    Object.entries(aliases).flatMap(([alias, name]) => (alias in data ? [[name, data[alias]]] : [])),
  ),
  ...data,
});
