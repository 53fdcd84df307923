/** Every operation of openapi.yaml with every kind of credential. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { openHouse, publicUrls } from '../house.ts';

interface Operation {
  operationId: string;
  security?: unknown[];
}

const document = parse(await readFile(new URL('../../../../openapi.yaml', import.meta.url), 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
};
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    method: method.toUpperCase(),
    url: path.replace('/files/{path}', '/files/*').replaceAll(/\{(\w+)\}/g, ':$1'),
    ...operation,
  })),
);

/** Routes that are no operation of the REST API: MCP, the pages for people, OAuth's metadata. */
const otherRoutes = (url: string) =>
  url === '/mcp' || /^\/(docs|console|openapi\.yaml|\.well-known)/.test(url);

test('openapi.yaml and the registered routes are the same', async () => {
  const { gateway } = await openHouse();
  const registered = gateway.routes
    .filter(({ method, url }) => method !== 'HEAD' && !otherRoutes(url))
    .map(({ method, url }) => `${method} ${url}`);
  expect(operations.map(({ method, url }) => `${method} ${url}`).sort()).toEqual(registered.sort());
  expect(operations.length).toBeGreaterThan(40);
  const open = operations.filter(({ security }) => security?.length === 0).map(({ url }) => url);
  for (const url of open) expect(publicUrls).toContain(url);
});

/** What the scope metrics allows: to read figures, and to look at them in the console. */
const ofMetrics = ['/metrics', '/v1/figures', '/v1/promises', '/v1/console-session'];

test('an operation is refused without a credential, with an unknown one, to a session, and to a key without its scope', async () => {
  const house = await openHouse();
  const credentials: [kind: string, token: string | undefined, statuses: number[]][] = [
    ['no credential', undefined, [401]],
    ['a wrong key', 'wrong-key-of-nobody', [401]],
    ['a forged token', 'eyJhbGciOiJub25lIn0.eyJ0ZW5hbnQiOiJhY21lIn0.', [401]],
    ['a key with no scope but metrics', 'key-for-metrics', [403]],
  ];
  let tried = 0;
  for (const operation of operations.filter(({ url }) => !publicUrls.includes(url)))
    for (const [kind, token, statuses] of credentials) {
      const isItsOwn = kind.endsWith('metrics') && ofMetrics.includes(operation.url);
      const { status } = await house.send(operation, token);
      tried++;
      expect([operation.operationId, kind, status]).toEqual([
        operation.operationId,
        kind,
        isItsOwn
          ? expect.toSatisfy((one: number) => one < 300)
          : expect.toSatisfy((one: number) => statuses.includes(one)),
      ]);
    }
  expect(tried).toBeGreaterThan(150);
});
