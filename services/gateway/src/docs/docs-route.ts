import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { type ApiDocument, renderDocsPage } from './docs-page.ts';

/** `/docs`: openapi.yaml for people. Public like it; rendered once, when it is first asked for. */
export function addDocsRoute(app: FastifyInstance): void {
  const style = readFileSync(new URL('docs-page.css', import.meta.url), 'utf8');
  // Nothing may run, load or leave: only the style that stands in the page counts.
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  let page: string | undefined;
  const rendered = () => {
    page ??= renderDocsPage(app.swagger() as unknown as ApiDocument, style);
    return page;
  };
  app.get('/docs', { config: { public: true }, schema: { hide: true } }, async (_request, reply) =>
    reply
      .headers({
        'content-security-policy': policy,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-cache',
      })
      .type('text/html; charset=utf-8')
      .send(rendered()),
  );
}
