import { type Content, type Html, html, joined, prose } from './html.ts';

/** As much of JSON Schema 2020-12 as our documents hold. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  description?: string;
  default?: unknown;
  pattern?: string;
  [keyword: string]: unknown;
}

/** How a schema reads in one line: `string`, `array of Run`, `a | b`. */
export function typeOf(schema: Schema): Html {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? '';
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  if (schema.anyOf) return joined(schema.anyOf.map(typeOf), ' or ');
  if (schema.enum) return joined(schema.enum.map(literal), ' | ');
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.type === 'array') return html`array of ${schema.items ? typeOf(schema.items) : 'anything'}`;
  const types = [schema.type ?? 'anything'].flat();
  return joined(types.map(String), ' or ');
}

const literal = (value: unknown): Html => html`<code>${JSON.stringify(value)}</code>`;

/** The fields of an object, of an array's entries, or of either side of a choice; nothing where there are none. */
export function fieldsOf(schema: Schema): Content {
  const { properties, required = [], items, anyOf } = schema;
  if (!properties) return items ? fieldsOf(items) : anyOf?.map(fieldsOf);
  const fields = Object.entries(properties).map(
    ([name, field]) => html`<li>
      <code class="name">${name}</code> <span class="type">${typeOf(field)}</span>${
        required.includes(name) && html` <em>required</em>`
      }
      ${meaningOf(field)}
      ${fieldsOf(field)}
    </li>`,
  );
  return fields.length > 0 && html`<ul class="fields">${fields}</ul>`;
}

/** What a value means, and its bounds. */
export function meaningOf(schema: Schema): Content {
  const bounds = boundsOf(schema);
  const { description } = schema;
  if (!description && bounds.length === 0) return undefined;
  return html`<p>${description && prose(description)}${description && bounds.length > 0 && '; '}${joined(bounds, ', ')}</p>`;
}

const boundWords: Record<string, string> = {
  minLength: 'characters at least',
  maxLength: 'characters at most',
  minimum: 'at least',
  maximum: 'at most',
  maxItems: 'entries at most',
};

function boundsOf(schema: Schema): Html[] {
  const numbers = Object.entries(boundWords).flatMap(([keyword, words]) => {
    const bound = schema[keyword];
    // Zod states the range of exact integers, which says nothing.
    if (typeof bound !== 'number' || Math.abs(bound) === Number.MAX_SAFE_INTEGER) return [];
    const text = bound.toLocaleString('en');
    return [words.startsWith('at') ? html`${words} ${text}` : html`${text} ${words}`];
  });
  return [
    ...(schema.default === undefined ? [] : [html`default ${literal(schema.default)}`]),
    ...(schema.pattern === undefined ? [] : [html`like <code>${schema.pattern}</code>`]),
    ...numbers,
  ];
}
