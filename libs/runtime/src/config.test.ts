import { expect, test } from 'vitest';
import { z } from 'zod';
import { envInteger, envList, loadConfig } from './config.ts';

const schema = z.object({
  PORT: envInteger(1, 65535).default(8080),
  HOSTS: envList.default([]),
  NAME: z.string().optional(),
});

test('an empty variable counts as unset', () => {
  expect(loadConfig(schema, { PORT: '', NAME: '' })).toEqual({
    PORT: 8080,
    HOSTS: [],
  });
});

test('every problem is reported at once, by the name of its variable', () => {
  const strict = schema.extend({ KEY: z.string() });
  expect(() => loadConfig(strict, { PORT: '80a' })).toThrow(/PORT: must be a whole number[\s\S]*KEY:/);
});

test('the result is frozen', () => {
  expect(Object.isFrozen(loadConfig(schema, { HOSTS: ' a, ,b ' }))).toBe(true);
  expect(loadConfig(schema, { HOSTS: ' a, ,b ' }).HOSTS).toEqual(['a', 'b']);
});
