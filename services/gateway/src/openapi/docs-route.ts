import fastifySwaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';

/**
 * What Swagger UI needs, for /docs alone: its own scripts, styles and images, data: images that its style sheet has, and
 * requests to this gateway for "Try it out".
 */
const contentSecurityPolicy = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': ["'self'", 'data:'],
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};

/**
 * `/docs`: openapi.yaml as a page, by Swagger UI from its static files. Public, as the document is; "Try it out" sends the
 * key that the reader enters under "Authorize", to this gateway and nowhere else.
 */
export async function addDocsRoute(app: FastifyInstance): Promise<void> {
  await app.register(async (docs) => {
    docs.addHook('onRoute', (route) => {
      route.config = { ...route.config, public: true };
    });
    docs.addHook('onSend', async (_request, reply) => {
      reply.headers({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
    });
    await docs.register(fastifySwaggerUi, {
      routePrefix: '/docs',
      staticCSP: contentSecurityPolicy,
      // "Try it out" asks the gateway that serves the page, whatever address it has.
      transformSpecification: (document) => ({ ...document, servers: [{ url: '/' }] }),
      theme: { title: 'harness API' },
      uiConfig: {
        layout: 'BaseLayout', // without the bar for other documents
        deepLinking: true,
        docExpansion: 'list',
        tryItOutEnabled: true,
        validatorUrl: null,
      },
    });
  });
}
