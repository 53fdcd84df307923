import { expect, test } from 'vitest';
import { createAnswering } from './answering.ts';

const question = {
  questionId: 'que_1',
  message: 'Where to?',
  schema: {
    properties: {
      city: { type: 'string', description: 'a city' },
      nights: { type: 'integer' },
      breakfast: { type: 'boolean' },
      class: { enum: ['first', 'second'] },
    },
    required: ['city'],
  },
};

test('asks for each field, again after a wrong answer; optional fields may be left out', () => {
  const answering = createAnswering(question);
  expect(answering.prompt()).toBe('city (a city)');
  expect(answering.take('')).toEqual({ wrong: 'city is required.' });
  expect(answering.take('Rome')).toBeUndefined();
  expect(answering.take('three')).toEqual({ wrong: 'This must be a whole number.' });
  expect(answering.take('3')).toBeUndefined();
  expect(answering.prompt()).toBe('breakfast (yes, no)');
  expect(answering.take('')).toBeUndefined();
  expect(answering.take('third')).toEqual({ wrong: 'This must be one of first, second.' });
  expect(answering.take('first')).toEqual({
    action: 'accept',
    content: { city: 'Rome', nights: 3, class: 'first' },
  });
});

test('is declined at any field; without fields it is agreed to by Enter', () => {
  expect(createAnswering(question).take('/decline')).toEqual({ action: 'decline' });
  expect(createAnswering({ questionId: 'que_1', message: 'Sure?' }).take('')).toEqual({ action: 'accept' });
  const page = createAnswering({ questionId: 'que_1', message: 'Sign in', url: 'https://example.com/' });
  expect(page.prompt()).toBe('Open https://example.com/, then Enter');
});
