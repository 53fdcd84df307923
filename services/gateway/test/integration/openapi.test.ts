import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { renderOpenApi } from '../../src/openapi/render-openapi.ts';
import { operationsOf } from '../fuzz/requests.ts';

const document = () => readFile(new URL('../../../../openapi.yaml', import.meta.url), 'utf8');

test('openapi.yaml equals what the routes generate; if not, run `npm run openapi`', async () => {
  expect(await renderOpenApi()).toBe(await document());
});

test('every route that takes a workspace or files documents that they may be refused', async () => {
  const asking = operationsOf(parse(await document())).filter(({ body }) => {
    const { properties = {} } = (body ?? {}) as { properties?: object };
    return 'workspace' in properties || 'files' in properties;
  });
  expect(asking.map(({ operationId, responses }) => [operationId, '422' in responses])).toEqual(
    ['createThread', 'createRun', 'createRunAndWait', 'createRunAndStream', 'createTask'].map((operation) => [
      operation,
      true,
    ]),
  );
});
