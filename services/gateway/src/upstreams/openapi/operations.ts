import { isObject } from '@harness/contracts';
import { isChosen, partNameOf } from '../file/upstream-names.ts';
import { createFlattener, type FlatSchema, propertiesOf } from './flatten-schema.ts';

/** Where a value of the input goes. */
export interface Place {
  /** The name in the input. */
  key: string;
  /** The name in the request. */
  name: string;
  in: 'path' | 'query' | 'header' | 'body';
  style?: 'deepObject' | undefined;
  /** Lists in one value, with commas. */
  isJoined?: boolean;
}

/** An operation of a document, as a tool. */
export interface Operation {
  name: string;
  title?: string;
  description: string;
  method: string;
  path: string;
  inputSchema: FlatSchema;
  places: Place[];
  /** `whole`: the input `body` is the body; `fields`: each field of it is an input. */
  body: { type: string; shape: 'whole' | 'fields' } | undefined;
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const;
/** Headers that the gateway sets itself. */
const ownHeaders = new Set(['accept', 'content-type', 'authorization', 'host', 'content-length', 'cookie']);
const isHeaderName = (name: string) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);
const maxDescription = 2_000;

/**
 * The operations of an OpenAPI 3.1 document that the patterns choose: `GET /pets*` by method and path, others by operationId.
 * `problem` hears of what is left out.
 */
export function operationsOf(
  document: Record<string, unknown>,
  patterns: readonly string[] | undefined,
  problem: (text: string) => void,
): Operation[] {
  const { resolve } = createFlattener(document, problem);
  const paths = isObject(document.paths) ? document.paths : {};
  return Object.entries(paths).flatMap(([path, given]) => {
    const item = resolve(given);
    if (!isObject(item) || !path.startsWith('/')) return [];
    return methods.flatMap((method): Operation[] => {
      const operation = item[method];
      if (!isObject(operation)) return [];
      const place = `${method.toUpperCase()} ${path}`;
      if (!isWanted(place, operation.operationId, patterns)) return [];
      const why = (text: string) => problem(`${place}: ${text}`);
      const shared = Array.isArray(item.parameters) ? item.parameters : [];
      const made = operationOf({ document, method, path, operation, shared }, why);
      return made ? [made] : [];
    });
  });
}

function isWanted(place: string, operationId: unknown, patterns: readonly string[] | undefined): boolean {
  if (!patterns) return true;
  const isPlace = (pattern: string) => pattern.includes(' ');
  // `* /pets` means every method.
  const byPlace = patterns.filter(isPlace);
  const byId = patterns.filter((pattern) => !isPlace(pattern));
  const isExcluded = [place, operationId].some(
    (name, at) =>
      typeof name === 'string' &&
      (at === 0 ? byPlace : byId).some((one) => one.startsWith('!') && isChosen(name, [one.slice(1)])),
  );
  const including = (some: string[]) => some.filter((one) => !one.startsWith('!'));
  if (isExcluded) return false;
  if (including(patterns as string[]).length === 0) return true;
  const chosen = (name: unknown, some: string[]) =>
    typeof name === 'string' && some.length > 0 && isChosen(name, some);
  return chosen(place, including(byPlace)) || chosen(operationId, including(byId));
}

interface Source {
  document: object;
  method: string;
  path: string;
  operation: Record<string, unknown>;
  /** Parameters of the path. */
  shared: readonly unknown[];
}

function operationOf({ document, method, path, operation, shared }: Source, problem: (text: string) => void) {
  const { flatten, resolve } = createFlattener(document, problem);
  const properties = new Map<string, unknown>();
  const required = new Set<string>();
  const places: Place[] = [];
  for (const parameter of parametersOf([...shared, ...listOf(operation.parameters)].map(resolve))) {
    const { name, in: where } = parameter;
    if (where === 'header' && ownHeaders.has(name.toLowerCase())) continue;
    if (where === 'header' && !isHeaderName(name)) {
      problem(`the header ${JSON.stringify(name)} has a name that is not possible, and is not sent`);
      continue;
    }
    if (where === 'cookie') {
      problem(`the cookie "${name}" is not sent`);
      continue;
    }
    const key = properties.has(name) ? `${name}_${where}` : name;
    const { schema, content } = parameter;
    const found =
      schema ?? Object.values(isObject(content) ? content : {}).map((one) => isObject(one) && one.schema)[0];
    const described =
      typeof parameter.description === 'string' ? { description: parameter.description.slice(0, 500) } : {};
    properties.set(key, { ...flatten(found), ...described });
    if (parameter.required === true || where === 'path') required.add(key);
    places.push({
      key,
      name,
      in: where as Place['in'],
      ...(parameter.style === 'deepObject' && { style: 'deepObject' as const }),
      ...(parameter.explode === false && { isJoined: true }),
    });
  }
  const requestBody = resolve(operation.requestBody);
  let body: Operation['body'];
  if (isObject(requestBody)) {
    const type = bodyTypeOf(requestBody.content);
    if (type === undefined) {
      problem('it is left out: its body is neither JSON nor a form');
      return undefined;
    }
    const schema = flatten(
      ((requestBody.content as Record<string, unknown>)[type] as { schema?: unknown }).schema,
    );
    const fields = propertiesOf(schema);
    const isFlat = fields && [...fields.properties.keys()].every((name) => !properties.has(name));
    body = { type, shape: isFlat ? 'fields' : 'whole' };
    if (fields && isFlat) {
      for (const [name, field] of fields.properties) {
        properties.set(name, field);
        places.push({ key: name, name, in: 'body' });
      }
      if (requestBody.required !== false) for (const name of fields.required) required.add(name);
    } else {
      const key = properties.has('body') ? 'request_body' : 'body';
      properties.set(key, schema);
      places.push({ key, name: 'body', in: 'body' });
      if (requestBody.required === true) required.add(key);
    }
  }
  const { operationId, summary, description } = operation;
  const texts = [summary, description].filter((text) => typeof text === 'string' && text !== '') as string[];
  return {
    name: partNameOf(
      typeof operationId === 'string' && operationId ? operationId : `${method}_${path.replace(/^\//, '')}`,
    ),
    ...(typeof summary === 'string' && summary && { title: summary.slice(0, 200) }),
    description: [...new Set(texts)].join('\n').slice(0, maxDescription) || `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path,
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(properties),
      ...(required.size > 0 && { required: [...required].filter((key) => properties.has(key)) }),
      additionalProperties: false,
    },
    places,
    body,
  } satisfies Operation;
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

type Parameter = Record<string, unknown> & { name: string; in: string };

/** An operation's parameter replaces one of its path with the same name and place. */
function parametersOf(given: readonly unknown[]): Parameter[] {
  const isParameter = (one: unknown): one is Parameter =>
    isObject(one) &&
    typeof one.name === 'string' &&
    ['path', 'query', 'header', 'cookie'].includes(String(one.in));
  return [...new Map(given.filter(isParameter).map((one) => [`${one.in} ${one.name}`, one])).values()];
}

const form = 'application/x-www-form-urlencoded';
function bodyTypeOf(content: unknown): string | undefined {
  const types = Object.keys(isObject(content) ? content : {});
  return (
    types.find((type) => /^application\/json\b|\+json\b/.test(type)) ?? types.find((type) => type === form)
  );
}
