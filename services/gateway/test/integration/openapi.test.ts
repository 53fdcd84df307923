import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { renderOpenApi } from '../../src/openapi/render-openapi.ts';

test('openapi.yaml equals what the routes generate; if not, run `npm run openapi`', async () => {
  const committed = await readFile(new URL('../../../../openapi.yaml', import.meta.url), 'utf8');
  expect(await renderOpenApi()).toBe(committed);
});
