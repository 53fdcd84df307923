import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { generalFailures } from './schemas.ts';

/** Options of @fastify/swagger: the parts of openapi.yaml that are not derived from a route's schema. */
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
      { name: 'files', description: 'Files of threads, by version' },
      { name: 'events', description: 'Events of a thread, stored and live' },
      { name: 'tasks', description: 'Work delegated to sub-agents' },
      { name: 'tools', description: 'Tools of plugins' },
      { name: 'sessions', description: 'Warm sessions of threads' },
      { name: 'commands', description: 'Slash commands' },
      { name: 'workers', description: 'The fleet' },
      { name: 'bus', description: 'Tasks that external workers poll for' },
      { name: 'keys', description: 'API keys' },
      { name: 'audit', description: 'Who did what' },
      { name: 'console', description: 'Signing in to the operator’s console' },
      { name: 'health', description: 'For probes' },
    ],
  },
  transform: ({ schema, url, route: { method } }) => {
    const { response = {}, ...rest } = (schema ?? {}) as { response?: object };
    const hasBody = [method].flat().some((one) => one !== 'GET' && one !== 'HEAD');
    const { path, params } = pathOf(url, rest);
    return {
      url: path,
      schema: { ...rest, ...params, response: { ...generalFailures(hasBody), ...response } },
    };
  },
  refResolver: {
    // biome-ignore lint/complexity/useMaxParams: the library's signature
    buildLocalReference: (json, _baseUri, _fragment, index) =>
      typeof json.$id === 'string' ? json.$id : `schema${index}`,
  },
};

/** Fastify's `*` as a parameter named `path`: OpenAPI has no wildcards. */
function pathOf(url: string, { params }: { params?: unknown }): { path: string; params: object } {
  if (!url.endsWith('/files/*')) return { path: url, params: {} };
  const text = JSON.stringify(params).replaceAll('"*"', '"path"');
  return { path: url.replace(/\*$/, ':path'), params: { params: JSON.parse(text) } };
}
