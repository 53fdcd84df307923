import { AppError, errorCodes } from '@harness/contracts';
import { type Content, type Html, html, joined, prose } from './html.ts';
import { fieldsOf, meaningOf, type Schema, typeOf } from './schema.ts';

/** As much of OpenAPI 3.1 as @fastify/swagger writes for us. */
export interface ApiDocument {
  info: { title: string; version: string; description?: string };
  tags?: { name: string; description?: string }[];
  paths: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, Schema> };
}
interface Operation {
  summary?: string;
  tags?: string[];
  deprecated?: boolean;
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema: Schema }[];
  requestBody?: { content: Media };
  responses?: Record<string, { description?: string; content?: Media }>;
}
type Media = Record<string, { schema?: Schema }>;
interface Entry extends Operation {
  method: string;
  path: string;
  id: string;
}

/** The API as one page of HTML that needs nothing else: no script, no font, no other host. */
export function renderDocsPage(document: ApiDocument, style: string): string {
  const { title, version, description = '' } = document.info;
  const entries = entriesOf(document);
  const groups = (document.tags ?? []).flatMap((tag) => {
    const own = entries.filter(({ tags }) => tags?.includes(tag.name));
    return own.length > 0 ? [{ ...tag, own }] : [];
  });
  const tagged = new Set(groups.flatMap(({ own }) => own));
  const rest = entries.filter((entry) => !tagged.has(entry));
  const all = rest.length > 0 ? [...groups, { name: 'others', description: '', own: rest }] : groups;
  const schemas = Object.entries(document.components?.schemas ?? {});
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} ${version}</title>
<style>${{ html: style }}</style>
</head>
<body>
<nav>
  <a class="title" href="#top">${title} <small>${version}</small></a>
  ${all.map(
    ({ name, own }) => html`<h2><a href="#${name}">${name}</a></h2>
  <ul>${own.map(linkTo)}</ul>`,
  )}
  <h2><a href="#schemas">schemas</a></h2>
  <ul>${schemas.map(([name]) => html`<li><a href="#schema-${name}">${name}</a></li>`)}</ul>
  <h2><a href="#errors">errors</a></h2>
</nav>
<main id="top">
<header>
  <h1>${title}</h1>
  <p>${prose(description)}</p>
  <p>Send <code>Authorization: Bearer</code> and an API key or an access token. The same as a file:
    <a href="/openapi.yaml">openapi.yaml</a>.</p>
</header>
${all.map(
  (group) => html`<section id="${group.name}">
<h2>${group.name} <small>${group.description}</small></h2>
${group.own.map(renderOperation)}
</section>`,
)}
<section id="schemas">
<h2>schemas <small>What the answers are made of</small></h2>
${schemas.map(
  ([name, schema]) => html`<article id="schema-${name}"><h3>${name}</h3>
${meaningOf(schema)}${fieldsOf(schema)}</article>`,
)}
</section>
${renderErrors()}
</main>
</body>
</html>
`;
  return page.html;
}

export const operationId = (method: string, path: string): string =>
  `${method}${path.replaceAll(/\W+/g, '-')}`.replace(/-$/, '');

const entriesOf = ({ paths }: ApiDocument): Entry[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method,
      path,
      id: operationId(method, path),
    })),
  );

/** In the margin, by what it does: paths look alike there. */
const linkTo = ({ id, method, path, summary = path }: Entry): Html =>
  html`<li><a href="#${id}" title="${path}"><span class="method ${method}">${method}</span> ${summary}</a></li>`;

function renderOperation({ id, method, path, summary, deprecated, ...operation }: Entry): Html {
  const { parameters = [], requestBody, responses = {} } = operation;
  const bodies = Object.values(requestBody?.content ?? {});
  return html`<article id="${id}">
<h3><a href="#${id}"><span class="method ${method}">${method}</span> <code>${path}</code></a>${
    deprecated && html` <em>deprecated</em>`
  }</h3>
<p class="summary">${summary}</p>
${parameters.length > 0 && html`<h4>Parameters</h4><ul class="fields">${parameters.map(renderParameter)}</ul>`}
${bodies.map(({ schema }) => schema && html`<h4>Body</h4>${fieldsOf(schema) || typeOf(schema)}`)}
<h4>Answers</h4>
<ul class="answers">${Object.entries(responses).map(renderAnswer)}</ul>
</article>`;
}

type Parameter = NonNullable<Operation['parameters']>[number];

const renderParameter = ({ name, in: place, required, description, schema }: Parameter): Html =>
  html`<li>
  <code class="name">${name}</code> <span class="type">${typeOf(schema)} in ${place}</span>${
    required && html` <em>required</em>`
  }
  ${meaningOf({ ...schema, ...(description === undefined ? {} : { description }) })}
</li>`;

function renderAnswer([status, { description, content = {} }]: [
  string,
  NonNullable<Operation['responses']>[string],
]): Html {
  const failed = Number(status) >= 400;
  // What Fastify writes where a route says nothing, and what every failure is, need no words.
  const words = description !== 'Default Response' && description;
  const kinds = Object.entries(content).flatMap(([type, { schema }]): Content[] => {
    if (!schema || failed) return [];
    if (type !== 'application/json') return [html`<code>${type}</code>`];
    return [html`<span class="type">${typeOf(schema)}</span>${fieldsOf(schema)}`];
  });
  return html`<li class="${failed ? 'failed' : 'good'}"><b>${status}</b> ${words && prose(words)} ${joined(kinds, ' or ')}</li>`;
}

function renderErrors(): Html {
  const rows = errorCodes.map((code) => {
    const { status, retry } = new AppError(code, '');
    return html`<tr><td><code>${code}</code></td><td>${status}</td><td>${retry ? 'later' : ''}</td></tr>`;
  });
  return html`<section id="errors">
<h2>errors <small>The <code>code</code> of a failure, its HTTP status, and whether the same request may succeed later</small></h2>
<table><thead><tr><th>code</th><th>status</th><th>retry</th></tr></thead><tbody>${rows}</tbody></table>
</section>`;
}
