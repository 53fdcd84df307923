import fastifySwaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';

/**
 * The policy for /docs alone: Swagger UI's own scripts, styles and images, the data: images of its style
 * sheet, and requests to this gateway ("Try it out").
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
 * Adds `/docs`: openapi.yaml in Swagger UI, from its static files. Public, like the document. "Try it out"
 * sends the key that the reader enters under "Authorize", only to this gateway.
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
      // "Try it out" calls the gateway that serves the page, at any address.
      transformSpecification: (document) => ({ ...document, servers: [{ url: '/' }] }),
      theme: { title: 'harness API' },
      uiConfig: {
        layout: 'BaseLayout', // without the bar for opening other documents
        deepLinking: true,
        docExpansion: 'list',
        tryItOutEnabled: true,
        validatorUrl: null,
      },
    });
  });
}
