import { AppError, UpdatePlugin } from '@harness/contracts';
import type { PluginDefinition } from '@harness/plugin-kit';
import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { requireScope } from '../../http/authenticate.ts';
import { answers, jsonSchemaOf, loadedOf, refTo } from '../../openapi/schemas.ts';

/** Adds GET /v1/plugins and PATCH /v1/plugins/:plugin. */
export function addPluginRoutes(app: FastifyInstance, { dispatch, plugins }: RouteDeps): void {
  const tags = ['tools'];
  const described = ({ name, version, prefix, tools = [] }: PluginDefinition, enabled: boolean) => ({
    name,
    version,
    enabled,
    tools: tools.map((tool) => (prefix === false ? tool.name : `${name}__${tool.name}`)),
    ...runOf(name, enabled),
  });
  const runOf = (name: string, enabled: boolean) => {
    const found = plugins.processOf?.(name);
    return {
      isolation: found ? ('process' as const) : ('none' as const),
      state: enabled ? (found?.state ?? ('ready' as const)) : ('disabled' as const),
      crashes: found?.crashes ?? 0,
      lastCrash: found?.lastCrash ?? null,
    };
  };

  app.get(
    '/v1/plugins',
    {
      schema: {
        tags,
        operationId: 'listPlugins',
        summary: 'List plugins, and why others did not load',
        response: answers({ 200: loadedOf('plugins', 'Plugin') }),
      },
    },
    async (request) => {
      requireScope(request.caller, 'tools');
      return {
        plugins: plugins.plugins.map((plugin) => described(plugin, plugins.isEnabled(plugin.name))),
        diagnostics: plugins.diagnostics,
      };
    },
  );

  app.patch<{ Params: { plugin: string }; Body: UpdatePlugin }>(
    '/v1/plugins/:plugin',
    {
      schema: {
        tags,
        operationId: 'updatePlugin',
        summary: 'Enable or disable a plugin in the whole fleet, until changed again',
        params: { type: 'object', properties: { plugin: { type: 'string' } }, required: ['plugin'] },
        body: jsonSchemaOf(UpdatePlugin),
        response: answers({ 200: refTo('Plugin') }, 400, 404),
      },
    },
    async (request) => {
      requireScope(request.caller, 'admin');
      const { plugin: name } = request.params;
      const plugin = plugins.plugins.find((one) => one.name === name);
      if (!plugin) throw new AppError('plugin_not_found', `There is no plugin "${name}".`);
      await dispatch.pluginStates.set(name, request.body.enabled);
      return described(plugin, request.body.enabled);
    },
  );
}
