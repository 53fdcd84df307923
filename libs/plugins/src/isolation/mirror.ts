/**
 * Converts the plugin that a module exports to JSON: values unchanged, functions as the path by which they are called. The
 * owner converts it back to an object, so that a plugin is validated and run in the same way, wherever its code runs.
 */
import { isObject, isPlainObject } from '@harness/contracts';

/** The path of a function from the export: field names and indexes. */
export type Path = (string | number)[];

type Shape = 'value' | 'function' | 'functions' | { list: Record<string, Shape> };

type Mirrored =
  | { value: unknown }
  | { function: Path }
  /** A value of the wrong kind; the validation reports it. */
  | { odd: 'function' | 'instance' | 'other' }
  | { fields: Record<string, Mirrored> }
  | { list: Mirrored[] };
/** A plugin or a list of tools as JSON. */
export type Mirror = Mirrored;

const served: Record<string, Shape> = {
  name: 'value',
  title: 'value',
  description: 'value',
  mimeType: 'value',
};
const toolShape: Record<string, Shape> = {
  name: 'value',
  title: 'value',
  description: 'value',
  schema: 'value',
  outputSchema: 'value',
  annotations: 'value',
  timeoutMs: 'value',
  scope: 'value',
  tenants: 'value',
  idempotent: 'value',
  aliases: 'value',
  task: 'value',
  handler: 'function',
  beforeTask: 'function',
};
const pluginShape: Record<string, Shape> = {
  name: 'value',
  version: 'value',
  prefix: 'value',
  global: 'value',
  instructions: 'value',
  register: 'function',
  start: 'function',
  stop: 'function',
  tools: { list: toolShape },
  resources: { list: { uri: 'value', tenants: 'value', ...served, read: 'function' } },
  resourceTemplates: { list: { uriTemplate: 'value', ...served, read: 'function', complete: 'functions' } },
  prompts: {
    list: {
      ...served,
      get: 'function',
      arguments: {
        list: {
          name: 'value',
          title: 'value',
          description: 'value',
          required: 'value',
          complete: 'function',
        },
      },
    },
  },
  commands: { list: { name: 'value', description: 'value', argumentHint: 'value', execute: 'function' } },
};

/** Mirrors a plugin. Throws what a getter of the author throws. */
export const mirrorOfPlugin = (plugin: unknown): Mirror => mirrorOfFields(plugin, pluginShape, []);
/** Mirrors a list of tools. */
export const mirrorOfTools = (tools: unknown): Mirror => mirrorOf(tools, { list: toolShape }, []);

function mirrorOfFields(value: unknown, shape: Record<string, Shape>, path: Path): Mirrored {
  if (!isObject(value)) return mirrorOf(value, 'value', path);
  const fields = Object.entries(shape).flatMap(([name, kind]) => {
    const field: unknown = Reflect.get(value, name);
    return field === undefined ? [] : [[name, mirrorOf(field, kind, [...path, name])]];
  });
  return { fields: Object.fromEntries(fields) };
}

function mirrorOf(value: unknown, shape: Shape, path: Path): Mirrored {
  if (typeof value === 'function') return shape === 'function' ? { function: path } : { odd: 'function' };
  if (typeof shape === 'object' && Array.isArray(value))
    return { list: value.map((part, i) => mirrorOfFields(part, shape.list, [...path, i])) };
  if (shape === 'functions' && isPlainObject(value)) {
    const entries = Object.entries(value).map(([name, field]) => [
      name,
      mirrorOf(field, 'function', [...path, name]),
    ]);
    return { fields: Object.fromEntries(entries) };
  }
  if (isObject(value) && !isPlainObject(value)) return { odd: 'instance' };
  // JSON drops some values of a schema, and so does the check of its bounds.
  return JSON.stringify(value) === undefined ? { odd: 'other' } : { value };
}

/** Converts a mirror back. `call` makes the function that replaces the one at a path. */
export function revive(mirror: Mirror, call: (path: Path) => (...args: unknown[]) => unknown): unknown {
  if ('value' in mirror) return mirror.value;
  if ('function' in mirror) return call(mirror.function);
  if ('list' in mirror) return mirror.list.map((part) => revive(part, call));
  if ('fields' in mirror) {
    const entries = Object.entries(mirror.fields).map(([name, field]) => [name, revive(field, call)]);
    return Object.fromEntries(entries);
  }
  if (mirror.odd === 'function') return () => undefined;
  return mirror.odd === 'instance' ? new NotPlain() : Symbol('not JSON');
}

class NotPlain {}

/** The function at a path, bound to its object. Throws if there is none. */
export function methodAt(root: unknown, path: Path): (...args: unknown[]) => unknown {
  let owner: unknown;
  let at = root;
  for (const part of path) {
    owner = at;
    at = (at as Record<string | number, unknown> | undefined)?.[part];
  }
  if (typeof at !== 'function') throw new Error(`The plugin no longer has ${path.join('.')}.`);
  return at.bind(owner);
}
