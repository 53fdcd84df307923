import { readFile } from 'node:fs/promises';
import { builtInPlugins } from '@harness/plugins';
import { expect, test } from 'vitest';
import { keyFor, openGateway, probe } from '../fixture.ts';
import { fuzzOpenApi } from '../fuzz/fuzz-openapi.ts';

test('1,500 requests, many invalid: no 5xx, every response as documented', {
  timeout: 120_000,
}, async () => {
  const keys = [
    keyFor('all'),
    keyFor('bus', { scopes: ['bus'] }),
    keyFor('threads', { scopes: ['threads'] }),
  ];
  const { url } = await openGateway({ keys, plugins: [...builtInPlugins, probe], waitLimitMs: 50 });
  const document = await readFile(new URL('../../../../openapi.yaml', import.meta.url), 'utf8');
  const credentials = ['all', 'bus', 'threads', 'nobody'].map((key) => `Bearer ${key}`);
  // A fixed seed, so that the result is reproducible; `npm run soak -- fuzz` uses others.
  const { statuses } = await fuzzOpenApi({ url, document, requests: 1_500, credentials, seed: 11 });
  // Not only refusals: routes that need a body or an id succeeded, too.
  for (const operation of ['createThread', 'getThread', 'createRun', 'callTool', 'busSubmitTask'])
    expect([
      operation,
      Object.keys(statuses[operation] ?? {}).some((status) => status.startsWith('2')),
    ]).toEqual([operation, true]);
});
