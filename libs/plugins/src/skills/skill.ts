/** A skill, and the schema of its front matter. */
import { builtInTools, isBuiltIn } from '@harness/contracts';
import type { EmbeddedCommands } from '@harness/dispatch';
import type { JsonSchema, PluginTool } from '@harness/plugin-kit';
import { createSchemaCompiler, invisibleIn } from '@harness/plugin-kit';
import { z } from 'zod';

/** One file of a skill. */
export interface SkillFile {
  /** Relative to the skill's folder, with `/`. */
  path: string;
  /** Bytes. */
  size: number;
  /** Digest of its bytes: `sha256:` and hex digits. */
  digest: string;
}

/** A loaded skill. */
export interface Skill {
  /** `command`: a Markdown file of a `commands` folder, which only people start. */
  kind: 'skill' | 'command';
  name: string;
  description: string;
  /** Whether it wants to be a slash command; undefined = not stated. */
  userInvocable: boolean | undefined;
  /** Whether agents may call it as a tool; otherwise only people can use it. */
  modelInvocable: boolean;
  /** Qualified names; undefined = all tools of the session. */
  allowedTools: readonly string[] | undefined;
  argumentHint: string | undefined;
  model: string | undefined;
  /** Schema of its arguments; undefined = a single text. */
  parameters: JsonSchema | undefined;
  /** The only tenants that may use it; undefined = all. */
  tenants: readonly string[] | undefined;
  /** `inline`: the tool returns the instructions. `fork`: a sub-agent follows them. */
  context: 'inline' | 'fork';
  instructions: string;
  /** Commands in the instructions. */
  commands: EmbeddedCommands | undefined;
  /** The front matter as written. */
  frontMatter: Record<string, unknown>;
  /** Its path in the skills folder, as in diagnostics. */
  place: string;
  /** Absolute, links resolved. */
  folder: string;
  files: readonly SkillFile[];
  /** Tools from its `tools.ts`, named `<skill>_<tool>`. */
  tools: readonly PluginTool[];
}

/** Where the instructions say that the files of the skill are. */
export const rootOf = ({ name }: Pick<Skill, 'name'>): string => `/skills/${name}`;

/** The tool that reads files of skills. It cannot be the name of a skill, because those have no underscore. */
export const readTool = 'read_file';

/** A name with its parentheses: the `*` in `Bash(git * main)` must not be read as "all tools". */
const nameInText = /(?:[^\s,(]|\([^)]*\)?)+/g;

/** Schema of tool names: a list, or a text with commas or spaces. Removes Claude Code's prefix `mcp__harness__`. */
export const toolNames = z
  .union([z.array(z.string()), z.string().transform((text) => text.match(nameInText) ?? [])])
  .transform((names) => names.map((name) => name.replace(/^mcp__harness__/, '')))
  .optional();

/** Schema of a model. Claude Code's `inherit` means no own model. */
export const modelName = z
  .string()
  .min(1)
  .max(200)
  .transform((model) => (model === 'inherit' ? undefined : model))
  .optional();

/** Schema of a text for people and models. Refuses invisible characters, which only a model would read. */
export const visibleText = z
  .string()
  .trim()
  .superRefine((text, context) => {
    const found = invisibleIn(text);
    if (found) context.addIssue(`has an invisible character (${found})`);
  });

/**
 * One message about the names that have no effect here, because no tool has them, or only workspaces have it; undefined: there are
 * none.
 */
export function foreignNames(names: readonly string[] = [], workspaces = false): string | undefined {
  const foreign = names.filter((name) => !name.includes('__') && name !== '*');
  const unknown = foreign.filter((name) => !isBuiltIn(name));
  const withoutWorkspace = workspaces ? [] : foreign.filter(isBuiltIn);
  const parts = [
    ...(unknown.length > 0
      ? [`${listed(unknown)} not a name of a tool (<plugin>__<tool>, or ${builtInTools.join(', ')})`]
      : []),
    ...(withoutWorkspace.length > 0
      ? [`${listed(withoutWorkspace)} for workspaces, which are off (HARNESS_WORKSPACES)`]
      : []),
  ];
  return parts.length === 0 ? undefined : `${parts.join('; ')}: no effect`;
}

const listed = (names: readonly string[]) =>
  `${names.map((name) => `"${name}"`).join(', ')} ${names.length === 1 ? 'is' : 'are'}`;

/** Schema of the front matter: the Agent Skills format and our additions. Unknown fields are ignored. */
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
      // Clients refuse the whole list of tools if one takes anything but an object.
      if (schema.type !== undefined && schema.type !== 'object')
        context.addIssue(`must describe an object: type is ${JSON.stringify(schema.type)}`);
      const found = invisibleIn(schema);
      if (found) context.addIssue(`has an invisible character (${found})`);
      try {
        createSchemaCompiler().compile(schema);
      } catch (thrown) {
        context.addIssue(
          `is not a valid JSON Schema: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
        );
      }
    })
    .optional(),
  context: z.enum(['inline', 'fork']).default('inline'),
  tenants: toolNames,
});

const aliases: Record<string, string> = {
  user_invocable: 'user-invocable',
  disable_model_invocation: 'disable-model-invocation',
  allowed_tools: 'allowed-tools',
  argument_hint: 'argument-hint',
};

/** Renames fields in the alternative spelling to the names of the format; the format's own spelling wins. */
export const withFormatNames = (data: Record<string, unknown>): Record<string, unknown> => ({
  ...Object.fromEntries(
    Object.entries(aliases).flatMap(([alias, name]) => (alias in data ? [[name, data[alias]]] : [])),
  ),
  ...data,
});
