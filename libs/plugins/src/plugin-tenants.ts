import { envList } from '@harness/runtime';
import { z } from 'zod';

const entry = /^[A-Za-z][\w-]*=[A-Za-z0-9._-]{1,64}(\|[A-Za-z0-9._-]{1,64})*$/;

/** The variable that gives plugins to named tenants: part of the configuration of gateways and workers. */
export const envPluginTenants = {
  /** `weather=acme|beta`: only these tenants are given the plugin. */
  HARNESS_PLUGIN_TENANTS: envList
    .pipe(z.array(z.string().regex(entry, 'must be like weather=acme|beta,crm=acme')))
    .default([]),
};

/** The only tenants that are given a plugin; undefined = all, for a plugin without an entry. */
export function pluginTenantsOf(
  entries: readonly string[],
): (plugin: string) => readonly string[] | undefined {
  const given = new Map(
    entries.map((text) => {
      const [plugin = '', tenants = ''] = text.split('=');
      return [plugin, tenants.split('|')] as const;
    }),
  );
  return (plugin) => given.get(plugin);
}
