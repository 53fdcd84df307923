import { isFor, type Offer } from '../host/offer.ts';
import type { ToolMiddleware } from './middleware.ts';
import type { Entry } from './tool-entry.ts';

/**
 * Filters by the view's allow-list, where `weather__*` means all names that begin with `weather__`, by the scopes that tools
 * require, and by what the tenant is offered.
 */
export function permissionFilter(
  entries: ReadonlyMap<string, Entry>,
  { isOffered, differs }: Offer,
): ToolMiddleware {
  return {
    name: 'permissions',
    filterTools(tools, { tools: allowed, scopes, tenant, isSession = false }) {
      const names = new Set(allowed);
      const beginnings = allowed?.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1)) ?? [];
      const isNamed = (name: string) =>
        !allowed || names.has(name) || beginnings.some((beginning) => name.startsWith(beginning));
      const isInScope = (name: string) => {
        const scope = entries.get(name)?.tool.scope;
        return !scopes || scope === undefined || scopes.includes(scope);
      };
      const isForTenant = (name: string) => {
        const tool = entries.get(name)?.tool;
        if (!differs || tenant === undefined || !tool) return true;
        return isOffered(tool.pluginName, tenant) && isFor(tool, tenant);
      };
      const isForCaller = (name: string) => !isSession || entries.get(name)?.tool.sessions !== false;
      return tools.filter(
        ({ name }) => isNamed(name) && isInScope(name) && isForTenant(name) && isForCaller(name),
      );
    },
  };
}
