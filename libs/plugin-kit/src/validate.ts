/** The door for what plugin authors export: reports every problem at once and never throws. */
import { commandNamePattern } from './commands.ts';
import type { PluginDefinition } from './contract.ts';
import { invisibleIn } from './invisible-text.ts';
import { createSchemaCompiler, type SchemaCompiler } from './schema.ts';
import { textOf } from './text-of.ts';

export type PluginValidation = { valid: true; plugin: PluginDefinition } | { valid: false; errors: string[] };

/**
 * With these two, `mcp__harness__<plugin>__<tool>` has at most 112 characters; model APIs take 128,
 * and the plugin name cannot contain the `__` at which a qualified name is split.
 */
const pluginNamePattern = /^[a-z][a-z0-9-]{0,31}$/;
const toolNamePattern = /^[A-Za-z0-9_-]{1,64}$/;
/** setTimeout fires at once for anything above. */
const maxTimeoutMs = 2 ** 31 - 1;

/** What is wrong with a field's value; undefined = nothing. */
type Problem = (value: unknown) => string | undefined;

/**
 * Takes the export `plugin`, else `default`. `register` is not called.
 * Each error reads `<modulePath>: <field>: <problem>`, the field of a tool as `tools[i].<field>`.
 */
export function validatePluginExport(moduleExports: unknown, modulePath: string): PluginValidation {
  const errors: string[] = [];
  const report = (field: string, problem: string | undefined) => {
    if (problem !== undefined) errors.push(`${modulePath}: ${field}: ${problem}`);
  };
  let plugin: unknown;
  try {
    plugin = exportOf(moduleExports);
    if (isObject(plugin)) reportPlugin(plugin, report);
    else report('export', 'must be a plugin object, exported as "plugin" or "default"');
  } catch (thrown) {
    // A getter or a proxy of the author's: what was found before it still counts.
    report('export', `could not be read: ${textOf(thrown)}`);
  }
  return errors.length === 0 ? { valid: true, plugin: plugin as PluginDefinition } : { valid: false, errors };
}

/** What a module offers as its plugin. */
export function exportOf(moduleExports: unknown): unknown {
  if (!isObject(moduleExports)) return undefined;
  return moduleExports.plugin ?? moduleExports.default;
}

type Rules = Record<string, Problem>;
type Report = (field: string, problem: string | undefined) => void;

function reportPlugin(plugin: Record<string, unknown>, report: Report): void {
  const rules: Record<string, Problem> = {
    name: matches(pluginNamePattern),
    version: isNonBlank,
    register: isFunction,
    start: optional(isFunction),
    stop: optional(isFunction),
    tools: optional(isList),
    commands: optional(isList),
  };
  for (const [field, problem] of Object.entries(rules)) report(field, problem(plugin[field]));
  if (Array.isArray(plugin.tools)) reportParts('tool', plugin.tools, { rules: toolRules(), report });
  if (Array.isArray(plugin.commands))
    reportParts('command', plugin.commands, { rules: commandRules, report });
}

function toolRules(): Rules {
  const compiler = createSchemaCompiler();
  return {
    name: first(isVisible, matches(toolNamePattern)),
    description: first(isNonBlank, isVisible),
    schema: first(describesObject(compiler), isVisible),
    handler: isFunction,
    title: optional(first(isNonBlank, isVisible)),
    outputSchema: optional(first(describesObject(compiler), isVisible)),
    annotations: optional(
      first((value) => (isPlainObject(value) ? undefined : 'must be a plain object'), isVisible),
    ),
    timeoutMs: optional(isTimeout),
    aliases: optional(isNames),
    scope: optional(isNonBlank),
    idempotent: optional((value) => (typeof value === 'boolean' ? undefined : 'must be a boolean')),
  };
}

const needed = { tool: 'name, description, schema and handler', command: 'name, description and execute' };

/** A list of the plugin's: each an object by the rules, no name twice. */
function reportParts(
  kind: keyof typeof needed,
  parts: unknown[],
  { rules, report }: { rules: Rules; report: Report },
): void {
  const firstUse = new Map<unknown, number>();
  for (const [index, part] of parts.entries()) {
    const at = `${kind}s[${index}]`;
    if (!isObject(part)) {
      report(at, `must be an object with ${needed[kind]}`);
      continue;
    }
    const { name } = part;
    for (const [field, problemOf] of Object.entries(rules)) {
      const problem = problemOf(part[field]);
      report(`${at}.${field}`, problem && `${problem} (${kind} ${JSON.stringify(name)})`);
    }
    if (firstUse.has(name))
      report(`${at}.name`, `"${name}" is already used by ${kind}s[${firstUse.get(name)}]`);
    else if (typeof name === 'string') firstUse.set(name, index);
  }
}

const describesObject =
  (compiler: SchemaCompiler): Problem =>
  (value) => {
    if (!isPlainObject(value)) return 'must be a plain JSON Schema object (defineTool converts Zod)';
    if (value.type !== undefined && value.type !== 'object') {
      return `must describe an object: type is ${JSON.stringify(value.type)}`;
    }
    try {
      compiler.compile(value);
    } catch (thrown) {
      return `must compile as JSON Schema 2020-12: ${textOf(thrown)}`;
    }
  };

const optional =
  (problem: Problem): Problem =>
  (value) =>
    value === undefined ? undefined : problem(value);

const first =
  (...problems: Problem[]): Problem =>
  (value) => {
    for (const problem of problems) {
      const found = problem(value);
      if (found !== undefined) return found;
    }
    return undefined;
  };

const isVisible: Problem = (value) => {
  const found = invisibleIn(value);
  return found && `has a character that models read and people do not see: ${found}`;
};

const matches =
  (pattern: RegExp): Problem =>
  (value) =>
    typeof value === 'string' && pattern.test(value)
      ? undefined
      : `must be a string matching ${pattern.source}`;

const isNonBlank: Problem = (value) =>
  typeof value === 'string' && /\S/.test(value) ? undefined : 'must be a non-blank string';

const isNames: Problem = (value) =>
  isPlainObject(value) && Object.values(value).every((name) => typeof name === 'string')
    ? undefined
    : 'must be an object of names by their old ones';

const isFunction: Problem = (value) => (typeof value === 'function' ? undefined : 'must be a function');

const isList: Problem = (value) => (Array.isArray(value) ? undefined : 'must be an array');

/** One line of it stands in a list. */
const isOneLine: Problem = (value) => (/[\r\n]/.test(String(value)) ? 'must be one line' : undefined);

const isTimeout: Problem = (value) =>
  typeof value === 'number' && value > 0 && value <= maxTimeoutMs
    ? undefined
    : `must be a number of milliseconds from 1 to ${maxTimeoutMs}`;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An object literal of any realm: class instances, Zod schemas among them, are not JSON. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

const commandRules: Rules = {
  name: matches(commandNamePattern),
  description: first(isNonBlank, isVisible, isOneLine),
  argumentHint: optional(first(isNonBlank, isVisible, isOneLine)),
  execute: isFunction,
};
