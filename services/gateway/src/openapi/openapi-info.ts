import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { generalFailures } from './schemas.ts';

/** The frame of openapi.yaml; the routes' own schemas fill it. */
export const openApiInfo: FastifyDynamicSwaggerOptions = {
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'harness',
      version: '0.1.0',
      description:
        'A self-hosted tool gateway and worker fleet for Claude agents. Tools are also offered over MCP at /mcp. Every failure is `{error: {code, message, details?}}`.',
    },
    servers: [{ url: 'http://127.0.0.1:8080' }],
    components: { securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } } },
    security: [{ apiKey: [] }],
    tags: [
      { name: 'threads', description: 'Conversations' },
      { name: 'runs', description: 'One message in, one result out' },
      { name: 'events', description: 'What happens on a thread, replayed and live' },
      { name: 'tasks', description: 'Work delegated to sub-agents' },
      { name: 'tools', description: 'What plugins offer' },
      { name: 'sessions', description: 'Warm sessions of threads' },
      { name: 'commands', description: 'What a person types after a slash' },
      { name: 'workers', description: 'The fleet' },
      { name: 'bus', description: 'Tasks for external workers, which wait for them' },
      { name: 'health', description: 'For probes' },
    ],
  },
  transform: ({ schema, url, route: { method } }) => {
    const { response = {}, ...rest } = (schema ?? {}) as { response?: object };
    const hasBody = [method].flat().some((one) => one !== 'GET' && one !== 'HEAD');
    return { url, schema: { ...rest, response: { ...generalFailures(hasBody), ...response } } };
  },
  refResolver: {
    // biome-ignore lint/complexity/useMaxParams: the library's signature
    buildLocalReference: (json, _baseUri, _fragment, index) =>
      typeof json.$id === 'string' ? json.$id : `schema${index}`,
  },
};
