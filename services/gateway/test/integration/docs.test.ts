import { expect, test } from 'vitest';
import { keyFor, openGateway } from '../fixture.ts';

test('/docs is public, and loads everything from this gateway', async () => {
  const gateway = await openGateway({ keys: [keyFor('some-key')] });
  const { status, headers, body: page } = await gateway.call('GET', '/docs');
  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  const used = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => String(path));
  expect(used.length).toBeGreaterThan(4);
  for (const path of used) {
    expect(path).toMatch(/^\/docs\/static\//);
    const file = await fetch(`${gateway.url}${path}`);
    expect([path, file.status, (await file.arrayBuffer()).byteLength > 100]).toEqual([path, 200, true]);
  }
  const { body: document } = await gateway.call('GET', '/docs/json');
  expect(Object.keys(document.paths)).toEqual(
    Object.keys((gateway.app.swagger() as unknown as { paths: object }).paths),
  );
  expect(document.servers).toEqual([{ url: '/' }]);
});

test('the content security policy of Swagger UI applies to /docs only', async () => {
  const gateway = await openGateway();
  const policyOf = async (path: string) =>
    (await gateway.call('GET', path)).headers.get('content-security-policy');
  const policy = await policyOf('/docs');
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
  expect(policy).not.toMatch(/unsafe|https?:/);
  expect(await policyOf('/healthz')).toBe(null);
  expect(await policyOf('/openapi.yaml')).toBe(null);
});
