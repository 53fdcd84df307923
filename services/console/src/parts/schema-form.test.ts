import { expect, test } from 'vitest';
import { argumentsOf, fieldsOf } from './schema-form.ts';

const schema = {
  type: 'object',
  properties: {
    note: { type: 'string', description: 'A note' },
    count: { type: 'integer', default: 3 },
    loud: { type: 'boolean' },
    size: { enum: ['s', 'm', 4] },
    list: { type: 'array' },
    city: { type: 'string' },
  },
  required: ['city'],
};

test('each property has a field of its kind, required ones first', () => {
  expect(fieldsOf(schema).map(({ name, kind, initial }) => [name, kind, initial])).toEqual([
    ['city', 'text', ''],
    ['note', 'text', ''],
    ['count', 'number', '3'],
    ['loud', 'boolean', 'false'],
    ['size', 'choice', ''],
    ['list', 'json', ''],
  ]);
  expect(fieldsOf({})).toEqual([]);
});

test('choices with titles are read by their titles, and sent as their values', () => {
  const titled = { properties: { pet: { oneOf: [{ const: 'c', title: 'Cat' }, { const: 'd' }] } } };
  expect(fieldsOf(titled)).toMatchObject([
    {
      kind: 'choice',
      choices: [
        { text: 'c', label: 'Cat' },
        { text: 'd', label: 'd' },
      ],
    },
  ]);
  expect(argumentsOf(titled, { pet: 'c' })).toEqual({ pet: 'c' });
});

test('what is typed becomes arguments; what is empty is left out', () => {
  expect(argumentsOf(schema, {})).toEqual({ city: '', count: 3 });
  const typed = { city: 'Bern', note: '', count: '', loud: 'true', size: '4', list: '[1, {"a": 2}]' };
  expect(argumentsOf(schema, typed)).toEqual({ city: 'Bern', loud: true, size: 4, list: [1, { a: 2 }] });
});

test('a text that is no JSON is named', () => {
  expect(() => argumentsOf(schema, { list: '[1' })).toThrow('“list” is not valid JSON.');
});
