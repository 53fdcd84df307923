/** Validates what plugin authors export: reports every problem at once and never throws. */

import { isObject, isPlainObject } from '@harness/contracts';
import type { PluginDefinition } from '../contract/contract.ts';
import { commandNamePattern } from '../host/commands.ts';
import { createSchemaCompiler } from '../schema/schema.ts';
import { textOf } from '../text-of.ts';
import {
  describesObject,
  first,
  hasNoSeparator,
  isArguments,
  isAtMost,
  isBoolean,
  isFunction,
  isList,
  isNames,
  isNonBlank,
  isObjectOf,
  isOneLine,
  isTaskMode,
  isTexts,
  isTimeout,
  isUri,
  isUriTemplate,
  isVisible,
  matches,
  optional,
  type Problem,
} from './field-rules.ts';

/** Longest `instructions` of a plugin, characters: they are part of what every client reads first. */
export const maxInstructions = 2_048;

/** The result of a validation; `errors` has every problem. */
export type PluginValidation = { valid: true; plugin: PluginDefinition } | { valid: false; errors: string[] };

const pluginNamePattern = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const toolNamePattern = /^[A-Za-z0-9_-]{1,64}$/;
/** Length of `<plugin>__<tool>`: sessions put `mcp__harness__` before it, and model APIs allow 128 characters. */
const maxQualifiedName = 114;

/**
 * Validates the export `plugin`, or else `default`. Does not call `register`.
 * Each error reads `<modulePath>: <field>: <problem>`, the field of a tool as `tools[i].<field>`.
 */
export function validatePluginExport(
  moduleExports: unknown,
  modulePath: string,
  { compileSchemas = true }: ValidationOptions = {},
): PluginValidation {
  const errors: string[] = [];
  const report = (field: string, problem: string | undefined) => {
    if (problem !== undefined) errors.push(`${modulePath}: ${field}: ${problem}`);
  };
  let plugin: unknown;
  try {
    plugin = exportOf(moduleExports);
    if (isObject(plugin)) reportPlugin(plugin, { report, compileSchemas });
    else report('export', 'must be a plugin object, exported as "plugin" or "default"');
  } catch (thrown) {
    // A getter or proxy of the author threw. The problems found before it are kept.
    report('export', `could not be read: ${textOf(thrown)}`);
  }
  return errors.length === 0 ? { valid: true, plugin: plugin as PluginDefinition } : { valid: false, errors };
}

/**
 * The value that a module exports as its plugin. Node imports the exports of a CommonJS module as `default`; they are the
 * plugin itself, or hold it as their own `plugin` or `default`.
 */
export function exportOf(moduleExports: unknown): unknown {
  if (!isObject(moduleExports)) return undefined;
  const found = moduleExports.plugin ?? moduleExports.default;
  if (!isObject(found) || 'register' in found) return found;
  return found.plugin ?? found.default ?? found;
}

/** Options of `validatePluginExport`. */
export interface ValidationOptions {
  /** False for built-in plugins: a test compiles their schemas, and compiling takes a tenth of the start-up time. */
  compileSchemas?: boolean;
}

type Rules = Record<string, Problem>;
type Report = (field: string, problem: string | undefined) => void;

function reportPlugin(
  plugin: Record<string, unknown>,
  { report, compileSchemas }: { report: Report; compileSchemas: boolean },
): void {
  const rules: Record<string, Problem> = {
    name: first(matches(pluginNamePattern), hasNoSeparator),
    version: isNonBlank,
    register: isFunction,
    start: optional(isFunction),
    stop: optional(isFunction),
    prefix: optional(isBoolean),
    instructions: optional(first(isNonBlank, isVisible, isAtMost(maxInstructions))),
  };
  for (const [field, problem] of Object.entries(rules)) report(field, problem(plugin[field]));
  for (const [field, kind] of Object.entries(kinds)) {
    const parts = plugin[field];
    if (Array.isArray(parts))
      reportParts(parts, { field, ...kind, rules: () => kind.rules(compileSchemas), report });
    else report(field, optional(isList)(parts));
  }
  if (plugin.prefix !== false) reportLongNames(plugin, report);
}

function reportLongNames({ name, tools }: Record<string, unknown>, report: Report): void {
  for (const [index, tool] of (Array.isArray(tools) ? tools : []).entries()) {
    if (!isObject(tool) || typeof tool.name !== 'string') continue;
    const qualified = `${name}__${tool.name}`;
    if (qualified.length <= maxQualifiedName) continue;
    const problem = `"${qualified}" must be at most ${maxQualifiedName} characters and has ${qualified.length}; shorten it`;
    report(`tools[${index}].name`, problem);
  }
}

interface Kind {
  /** Singular noun for error messages. */
  word: string;
  /** Its required fields, for error messages. */
  needed: string;
  /** The field that must be unique. */
  id: string;
  rules(compileSchemas: boolean): Rules;
}

/** The fields of a plugin that are lists, with the rules of their items. */
const kinds: Record<string, Kind> = {
  tools: { word: 'tool', needed: 'name, description, schema and handler', id: 'name', rules: toolRules },
  commands: {
    word: 'command',
    needed: 'name, description and execute',
    id: 'name',
    rules: () => ({
      name: matches(commandNamePattern),
      description: first(isNonBlank, isVisible, isOneLine),
      argumentHint: optional(first(isNonBlank, isVisible, isOneLine)),
      execute: isFunction,
    }),
  },
  resources: {
    word: 'resource',
    needed: 'uri, name and read',
    id: 'uri',
    rules: () => ({ uri: isUri, ...servedRules, read: isFunction }),
  },
  resourceTemplates: {
    word: 'template',
    needed: 'uriTemplate, name and read',
    id: 'uriTemplate',
    rules: () => ({
      uriTemplate: isUriTemplate,
      ...servedRules,
      read: isFunction,
      complete: optional(isObjectOf(isFunction)),
    }),
  },
  prompts: {
    word: 'prompt',
    needed: 'name and get',
    id: 'name',
    rules: () => ({
      name: matches(toolNamePattern),
      title: optional(first(isNonBlank, isVisible)),
      description: optional(first(isNonBlank, isVisible)),
      arguments: optional(isArguments),
      get: isFunction,
    }),
  },
};

function toolRules(compileSchemas: boolean): Rules {
  const compiler = compileSchemas ? createSchemaCompiler() : undefined;
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
    tenants: optional(isTexts),
    idempotent: optional(isBoolean),
    task: optional(isTaskMode),
    beforeTask: optional(isFunction),
  };
}

/** Checks one list: each item is an object that follows the rules, and no id is used twice. */
function reportParts(
  parts: unknown[],
  {
    field: list,
    word,
    needed,
    id,
    rules,
    report,
  }: Omit<Kind, 'rules'> & { field: string; rules(): Rules; report: Report },
): void {
  const firstUse = new Map<unknown, number>();
  const problems = Object.entries(rules());
  for (const [index, part] of parts.entries()) {
    const at = `${list}[${index}]`;
    if (!isObject(part)) {
      report(at, `must be an object with ${needed}`);
      continue;
    }
    const own = part[id];
    for (const [field, problemOf] of problems) {
      const problem = problemOf(part[field]);
      report(`${at}.${field}`, problem && `${problem} (${word} ${JSON.stringify(own)})`);
    }
    if (firstUse.has(own)) report(`${at}.${id}`, `"${own}" is already used by ${list}[${firstUse.get(own)}]`);
    else if (typeof own === 'string') firstUse.set(own, index);
  }
}

/** Rules that resources and resource templates share. */
const servedRules: Rules = {
  name: first(isNonBlank, isVisible),
  title: optional(first(isNonBlank, isVisible)),
  description: optional(first(isNonBlank, isVisible)),
  mimeType: optional(isNonBlank),
};
