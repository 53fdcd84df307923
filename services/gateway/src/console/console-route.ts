/**
 * The operator's console: static files that Vite has built, at /console. They are public, since they hold no data: the console
 * reads all that it shows from the REST API, with the rights of the person who signed in.
 *
 * This folder:
 *   console-session.ts  signing in and out
 *   console-cookie.ts   the cookie, and when it is accepted
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';

/** Where the set-up and the image build the console. */
export const consoleFolder: string = fileURLToPath(new URL('../../../console/dist/', import.meta.url));

/**
 * The console loads only its own files and calls only this gateway. It never makes HTML from text; with `trusted-types` the
 * browser would refuse that.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const missing =
  'The console is not built at this gateway. `npm start` builds it; by hand: npm run build --workspace services/console\n';

/** Adds /console: the page at every path below it, and its files at /console/assets. `folder`: what Vite has built. */
export async function addConsoleRoute(app: FastifyInstance, folder: string = consoleFolder): Promise<void> {
  await app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      route.config = { ...route.config, public: true };
    });
    scope.addHook('onSend', async (_request, reply) => {
      reply.headers({
        'content-security-policy': contentSecurityPolicy,
        'cross-origin-opener-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      });
    });
    const schema = { hide: true };
    if (!existsSync(folder)) {
      const answer = (reply: FastifyReply) => reply.code(404).type('text/plain; charset=utf-8').send(missing);
      scope.get('/console', { schema }, (_request, reply) => answer(reply));
      scope.get('/console/*', { schema }, (_request, reply) => answer(reply));
      return;
    }
    await scope.register(fastifyStatic, { root: folder, serve: false, index: false, preCompressed: true });
    const page = (reply: FastifyReply) =>
      reply.header('Cache-Control', 'no-cache').sendFile('index.html', { cacheControl: false });
    scope.get('/console', { schema }, (_request, reply) => reply.redirect('/console/'));
    scope.get<{ Params: { '*': string } }>('/console/*', { schema }, (request, reply) => {
      const file = request.params['*'];
      // The names of these have a hash of their content.
      if (file.startsWith('assets/')) return reply.sendFile(file, { immutable: true, maxAge: '365d' });
      return /^[\w-]+\.(js|svg)$/.test(file) ? reply.sendFile(file, { maxAge: '1h' }) : page(reply);
    });
  });
}
