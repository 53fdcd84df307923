/**
 * What a module exports as its plugin, as JSON: values as they are, functions as the path by which they are called. On the
 * other side it is an object again, so that a plugin is validated, proven and run in one way, wherever its code is.
 */

/** Where a function is, from the export: field names and indexes. */
export type Path = (string | number)[];

type Shape = 'value' | 'function' | 'functions' | { list: Record<string, Shape> };

type Mirrored =
  | { value: unknown }
  | { function: Path }
  /** What is not as it should be; the validation says so. */
  | { odd: 'function' | 'instance' | 'other' }
  | { fields: Record<string, Mirrored> }
  | { list: Mirrored[] };
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
  register: 'function',
  start: 'function',
  stop: 'function',
  tools: { list: toolShape },
  resources: { list: { uri: 'value', ...served, read: 'function' } },
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

/** Reads getters of the author's: throws what they throw. */
export const mirrorOfPlugin = (plugin: unknown): Mirror => mirrorOfFields(plugin, pluginShape, []);
/** Of a list of tools. */
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
  if (shape === 'functions' && isPlain(value)) {
    const entries = Object.entries(value).map(([name, field]) => [
      name,
      mirrorOf(field, 'function', [...path, name]),
    ]);
    return { fields: Object.fromEntries(entries) };
  }
  if (isObject(value) && !isPlain(value)) return { odd: 'instance' };
  // What JSON leaves out of a schema, the bounds of schemas leave out, too.
  return JSON.stringify(value) === undefined ? { odd: 'other' } : { value };
}

/** `call` makes the function that stands for the one at a path. */
export function revive(mirror: Mirror, call: (path: Path) => (...args: unknown[]) => unknown): unknown {
  if ('value' in mirror) return mirror.value;
  if ('function' in mirror) return call(mirror.function);
  if ('list' in mirror) return mirror.list.map((part) => revive(part, call));
  if ('fields' in mirror) {
    const entries = Object.entries(mirror.fields).map(([name, field]) => [name, revive(field, call)]);
    return Object.fromEntries(entries);
  }
  if (mirror.odd === 'function') return () => undefined;
  return mirror.odd === 'instance' ? new NotPlain() : Symbol('what is no JSON');
}

class NotPlain {}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isPlain = (value: unknown): value is Record<string, unknown> => {
  if (!isObject(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

/** The function at a path, with its object for `this`. Throws where there is none. */
export function methodAt(root: unknown, path: Path): (...args: unknown[]) => unknown {
  let owner: unknown;
  let at = root;
  for (const part of path) {
    owner = at;
    at = (at as Record<string | number, unknown> | undefined)?.[part];
  }
  if (typeof at !== 'function') throw new Error(`It has no ${path.join('.')} any more.`);
  return at.bind(owner);
}
