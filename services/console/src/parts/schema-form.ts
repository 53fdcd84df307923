/** A form made from a JSON Schema: its fields, and the arguments that the typed texts mean. */

/** The part of a JSON Schema that a form shows. */
export interface Schema {
  type?: string | string[];
  description?: string;
  title?: string;
  enum?: unknown[];
  /** Choices with titles. */
  oneOf?: { const?: unknown; title?: string }[];
  default?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
}

/** A field of the form. json: anything that has no field of its own is typed as JSON. */
export interface Field {
  name: string;
  kind: 'text' | 'number' | 'boolean' | 'choice' | 'json';
  isRequired: boolean;
  description: string | undefined;
  choices: readonly { text: string; label: string }[];
  /** What is in the field at first. */
  initial: string;
}

/** The fields of an object schema, required ones first. */
export function fieldsOf({ properties = {}, required = [] }: Schema): Field[] {
  const fields = Object.entries(properties).map(([name, schema]): Field => {
    const kind = kindOf(schema);
    return {
      name,
      kind,
      isRequired: required.includes(name),
      description: schema.description ?? schema.title,
      choices: choicesOf(schema).map(({ value, label }) => ({ text: textOf(value), label })),
      initial: schema.default === undefined ? (kind === 'boolean' ? 'false' : '') : textOf(schema.default),
    };
  });
  return fields.sort((one, other) => Number(other.isRequired) - Number(one.isRequired));
}

/** The values that a schema names, with what people read. */
function choicesOf({ enum: values, oneOf }: Schema): { value: unknown; label: string }[] {
  if (values) return values.map((value) => ({ value, label: textOf(value) }));
  const isTitled = oneOf?.every((one) => one.const !== undefined) ?? false;
  return isTitled
    ? (oneOf ?? []).map(({ const: value, title }) => ({ value, label: title ?? textOf(value) }))
    : [];
}

function kindOf(schema: Schema): Field['kind'] {
  const { type } = schema;
  const choices = choicesOf(schema);
  if (choices.length > 0 && choices.every(({ value }) => typeof value !== 'object')) return 'choice';
  if (type === 'string') return 'text';
  if (type === 'number' || type === 'integer') return 'number';
  return type === 'boolean' ? 'boolean' : 'json';
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

/**
 * The arguments that the typed texts mean, by field name. A field that is empty and not required is left out. Throws an Error
 * that names the field whose text is no JSON.
 */
export function argumentsOf(
  schema: Schema,
  texts: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const entries = fieldsOf(schema).flatMap((field): [string, unknown][] => {
    const text = texts[field.name] ?? field.initial;
    if (text === '' && !(field.isRequired && field.kind === 'text')) return [];
    if (field.kind === 'boolean' && text === 'false' && !field.isRequired && texts[field.name] === undefined)
      return [];
    return [[field.name, typedOf(field, { text, schema: schema.properties?.[field.name] ?? {} })]];
  });
  return Object.fromEntries(entries);
}

function typedOf({ name, kind }: Field, { text, schema }: { text: string; schema: Schema }): unknown {
  if (kind === 'text') return text;
  if (kind === 'number') return Number(text);
  if (kind === 'boolean') return text === 'true';
  if (kind === 'choice') return choicesOf(schema).find(({ value }) => textOf(value) === text)?.value;
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`“${name}” is not valid JSON.`);
  }
}
