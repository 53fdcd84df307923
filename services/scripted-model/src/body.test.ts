import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseBody, readBody } from './body.ts';

const bodyOf = (...chunks: string[]) => Readable.from(chunks.map((chunk) => Buffer.from(chunk)));

test('a body is read whole, up to the limit', async () => {
  const [first, second] = [Buffer.from('é').subarray(0, 1), Buffer.from('é').subarray(1)];
  expect(await readBody(Readable.from([first, second]), 2)).toBe('é');
  await expect(readBody(bodyOf('ab', 'c'), 2)).rejects.toMatchObject({ status: 413 });
});

test('an invalid field is named in the refusal', () => {
  const schema = z.object({ messages: z.array(z.string()) });
  expect(() => parseBody(schema, '{"messages":[1]}')).toThrow(/messages\.0/);
  expect(() => parseBody(schema, '{')).toThrow(/not valid JSON/);
});
