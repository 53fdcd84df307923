import { createHash } from 'node:crypto';
import { errorCodes } from '@harness/contracts';
import { expect, test } from 'vitest';
import { operationId } from '../../src/docs/docs-page.ts';
import { keyFor, openGateway } from '../fixture.ts';

test('/docs shows every operation, schema and error, to anybody', async () => {
  const gateway = await openGateway({ keys: [keyFor('some-key')] });
  const { status, headers, body: page } = await gateway.call('GET', '/docs');
  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  const { paths, components } = gateway.app.swagger() as unknown as {
    paths: Record<string, Record<string, { summary: string; responses: object }>>;
    components: { schemas: object };
  };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  expect(operations.length).toBeGreaterThan(25);
  const articles: string[] = page.split('<article ');
  for (const { method, path, operation } of operations) {
    const found = articles.filter((text) => text.startsWith(`id="${operationId(method, path)}"`));
    expect([method, path, found.length]).toEqual([method, path, 1]);
    expect(found[0]).toContain(`<code>${path}</code>`);
    expect(found[0]).toContain(operation.summary.split(':')[0]);
    for (const answer of Object.keys(operation.responses)) expect(found[0]).toContain(`<b>${answer}</b>`);
  }
  for (const name of Object.keys(components.schemas)) expect(page).toContain(`id="schema-${name}"`);
  for (const code of errorCodes) expect(page).toContain(`<code>${code}</code>`);
});

test('/docs stands alone: no script, nothing from elsewhere, every link leads somewhere', async () => {
  const gateway = await openGateway();
  const { headers, body: page } = await gateway.call('GET', '/docs');
  const style = page.match(/<style>([\s\S]*?)<\/style>/)?.[1] ?? '';
  const digest = createHash('sha256').update(style).digest('base64');
  expect(headers.get('content-security-policy')).toBe(
    `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  expect(page).not.toMatch(/<script|<link|<img|<iframe|<form|\s(on\w+|style|src)=|url\(|@import/i);
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const links = [...page.matchAll(/href="([^"]+)"/g)].map(([, link]) => link);
  expect(links.filter((link) => link !== '/openapi.yaml' && !ids.includes(link?.slice(1)))).toEqual([]);
});
