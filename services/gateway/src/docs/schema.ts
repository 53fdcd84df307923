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

function boundsOf(schema: Schema): Html[] {
  const { default: preset, pattern, minLength, maxLength, minItems, maxItems, minimum, maximum } = schema;
  return [
    ...(preset === undefined ? [] : [html`default ${literal(preset)}`]),
    ...(pattern === undefined ? [] : [html`like <code>${pattern}</code>`]),
    ...rangeOf(minLength, maxLength, ' characters'),
    ...rangeOf(minItems, maxItems, ' entries'),
    ...rangeOf(minimum, maximum, ''),
  ];
}

function rangeOf(from: unknown, to: unknown, unit: string): Html[] {
  const [low, high] = [from, to].map((bound) =>
    // Zod states the range of exact integers, which says nothing.
    typeof bound === 'number' && Math.abs(bound) !== Number.MAX_SAFE_INTEGER
      ? bound.toLocaleString('en')
      : undefined,
  );
  if (low !== undefined && high !== undefined) return [html`${low} to ${high}${unit}`];
  if (low !== undefined) return [html`${low}${unit} or more`];
  return high === undefined ? [] : [html`up to ${high}${unit}`];
}
