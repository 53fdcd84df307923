import { expect, test } from 'vitest';
import { renderDocsPage } from './docs-page.ts';
import type { Schema } from './schema.ts';

const nasty = `"><script>alert('x')</script>&`;
const page = (schema: Schema) =>
  renderDocsPage(
    {
      info: { title: 'api', version: '1' },
      tags: [{ name: 'things', description: 'All of them' }],
      paths: { '/things': { post: { tags: ['things'], requestBody: { content: { json: { schema } } } } } },
    },
    '',
  );

test('all text of the document is escaped, wherever it stands', () => {
  const schema: Schema = {
    type: 'object',
    description: nasty,
    properties: { [nasty]: { enum: [nasty], default: nasty, pattern: nasty, description: `\`${nasty}\`` } },
  };
  const operation = {
    summary: nasty,
    tags: [nasty],
    parameters: [{ name: nasty, in: nasty, description: nasty, schema: { type: nasty } }],
    requestBody: { content: { 'application/json': { schema } } },
    responses: { [nasty]: { description: nasty, content: { [nasty]: { schema: { $ref: `#/${nasty}` } } } } },
  };
  const document = {
    info: { title: nasty, version: nasty, description: nasty },
    tags: [{ name: nasty, description: nasty }],
    paths: { [nasty]: { [nasty]: operation } },
    components: { schemas: { [nasty]: schema } },
  };
  const text = renderDocsPage(document, '');
  expect(text).not.toContain('<script');
  expect(text.split('&#60;script&#62;').length).toBeGreaterThan(20);
});

test('a schema reads in one line, and its parts below', () => {
  const text = page({
    type: 'object',
    properties: {
      list: { type: 'array', items: { type: 'object', properties: { kind: { enum: ['a', 'b'] } } } },
      either: { anyOf: [{ $ref: '#/components/schemas/Thread' }, { type: 'null' }] },
      name: { type: 'string', minLength: 1, maxLength: 2000 },
      count: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, default: 5 },
    },
    required: ['count'],
  }).replaceAll(/\s+/g, ' ');
  expect(text).toContain('<code class="name">list</code> <span class="type">array of object</span>');
  expect(text).toContain('<code>&#34;a&#34;</code> | <code>&#34;b&#34;</code>');
  expect(text).toContain('<a href="#schema-Thread">Thread</a> or null');
  expect(text).toContain('<span class="type">integer</span> <em>required</em>');
  expect(text).toContain('<p>1 to 2,000 characters</p>');
  expect(text).toContain('<p>default <code>5</code>, 1 or more</p>');
});

test('what has no group is shown all the same', () => {
  const paths = { '/alone': { get: { summary: 'Alone' } } };
  expect(renderDocsPage({ info: { title: 'api', version: '1' }, paths }, '')).toContain('id="get-alone"');
});
