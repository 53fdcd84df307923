import type { PluginDefinition } from '../contract/contract.ts';

/** The disabled plugins: for all tenants, and for single ones. */
export interface DisabledPlugins {
  all: readonly string[];
  tenants: Readonly<Record<string, readonly string[]>>;
}

/** Which tenants are offered what. */
export interface Offer {
  /** Whether a plugin is offered to a tenant; without a tenant, whether it runs at all. */
  isOffered(pluginName: string, tenant?: string): boolean;
  /** Whether tenants are offered different things, so that lists must be made for each. */
  differs: boolean;
}

/** `tenantsOf`: the only tenants that are given a plugin; undefined = all. */
export function createOffer(
  { all, tenants }: DisabledPlugins,
  deps: {
    plugins: readonly PluginDefinition[];
    tenantsOf: (pluginName: string) => readonly string[] | undefined;
  },
): Offer {
  const { tenantsOf } = deps;
  const off = new Set(all);
  const offFor = new Map(Object.entries(tenants).map(([tenant, names]) => [tenant, new Set(names)]));
  const isForSome = ({ name, tools = [], resources = [] }: PluginDefinition) =>
    tenantsOf(name) !== undefined || [...tools, ...resources].some((part) => part.tenants !== undefined);
  return {
    differs: offFor.size > 0 || deps.plugins.some(isForSome),
    isOffered(name, tenant) {
      if (off.has(name)) return false;
      return (
        tenant === undefined ||
        (isFor({ tenants: tenantsOf(name) }, tenant) && !offFor.get(tenant)?.has(name))
      );
    },
  };
}

/** Whether something is for this tenant; undefined `tenants` = for all. */
export const isFor = ({ tenants }: { tenants?: readonly string[] | undefined }, tenant: string): boolean =>
  tenants === undefined || tenants.includes(tenant);

/** The plugins as one tenant is offered them. */
export const offeredTo = (
  plugins: readonly PluginDefinition[],
  { isOffered }: Offer,
  tenant: string,
): PluginDefinition[] =>
  plugins
    .filter(({ name }) => isOffered(name, tenant))
    .map((plugin) => ({
      ...plugin,
      ...(plugin.resources && { resources: plugin.resources.filter((one) => isFor(one, tenant)) }),
    }));
