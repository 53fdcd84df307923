import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { renderOpenApi } from './render-openapi.ts';

test('openapi.yaml is what the routes say; regenerate it with `npm run openapi`', async () => {
  const committed = await readFile(new URL('../../../../openapi.yaml', import.meta.url), 'utf8');
  expect(await renderOpenApi()).toBe(committed);
});
