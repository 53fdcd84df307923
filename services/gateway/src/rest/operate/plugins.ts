import { AppError, UpdatePlugin } from '@harness/contracts';
import { type DisabledPlugins, isFor, type PluginDefinition } from '@harness/plugin-kit';
import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { requireScope } from '../../http/credentials/authenticate.ts';
import { answers, jsonSchemaOf, loadedOf, refTo } from '../../openapi/schemas.ts';

/** Adds GET /v1/plugins and PATCH /v1/plugins/:plugin. */
export function addPluginRoutes(app: FastifyInstance, { dispatch, plugins, scrubber }: RouteDeps): void {
  const tags = ['tools'];
  const described = (
    { name, version, prefix, global = false, tools = [] }: PluginDefinition,
    { enabled, disabledFor }: { enabled: boolean; disabledFor: 'tenant' | 'all' | null },
  ) => ({
    name,
    version,
    enabled,
    disabledFor,
    global,
    tools: tools.map((tool) => (prefix === false ? tool.name : `${name}__${tool.name}`)),
    ...runOf(name, enabled),
  });
  const runOf = (name: string, enabled: boolean) => {
    const found = plugins.processOf?.(name);
    return {
      isolation: found ? ('process' as const) : ('none' as const),
      state: enabled ? (found?.state ?? ('ready' as const)) : ('disabled' as const),
      crashes: found?.crashes ?? 0,
      lastCrash: scrubber.json(found?.lastCrash ?? null),
    };
  };

  /** The state of a plugin for a tenant. */
  const stateOf = ({ all, tenants }: DisabledPlugins, name: string, tenant: string) => {
    const disabledFor = all.includes(name) ? 'all' : tenants[tenant]?.includes(name) ? 'tenant' : null;
    return { enabled: disabledFor === null, disabledFor } as const;
  };

  app.get(
    '/v1/plugins',
    {
      config: { scope: 'tools' },
      schema: {
        tags,
        operationId: 'listPlugins',
        summary: 'List plugins, and why others did not load',
        response: answers({ 200: loadedOf('plugins', 'Plugin') }),
      },
    },
    async (request) => {
      const { tenant } = request.caller.principal;
      const disabled = await dispatch.pluginStates.disabled();
      const given = plugins.plugins.filter(({ name }) => isFor({ tenants: plugins.tenantsOf(name) }, tenant));
      return {
        plugins: given.map((plugin) => described(plugin, stateOf(disabled, plugin.name, tenant))),
        diagnostics: scrubber.json(plugins.diagnostics),
      };
    },
  );

  app.patch<{ Params: { plugin: string }; Body: UpdatePlugin }>(
    '/v1/plugins/:plugin',
    {
      schema: {
        tags,
        operationId: 'updatePlugin',
        summary: 'Enable or disable a plugin until changed again: for one’s tenant, or (scope fleet) for all',
        params: { type: 'object', properties: { plugin: { type: 'string' } }, required: ['plugin'] },
        body: jsonSchemaOf(UpdatePlugin),
        response: answers({ 200: refTo('Plugin') }, 400, 404),
      },
    },
    async (request) => {
      const { caller, body, params } = request;
      const forAll = body.for === 'all';
      requireScope(caller, forAll ? 'fleet' : 'admin');
      const { tenant } = caller.principal;
      const name = params.plugin;
      const plugin = plugins.plugins.find((one) => one.name === name);
      if (!plugin || !isFor({ tenants: plugins.tenantsOf(name) }, tenant))
        throw new AppError(
          'plugin_not_found',
          `There is no plugin "${name}". GET /v1/plugins lists the plugins.`,
        );
      const state = { plugin: name, enabled: body.enabled, tenant: forAll ? undefined : tenant };
      await dispatch.pluginStates.set(state);
      return described(plugin, stateOf(await dispatch.pluginStates.disabled(), name, tenant));
    },
  );
}
