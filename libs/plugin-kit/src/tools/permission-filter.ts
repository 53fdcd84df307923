import type { ToolMiddleware } from './middleware.ts';
import type { Entry } from './tool-entry.ts';

/**
 * Filters by the view's allow-list, where `weather__*` means all names that begin with `weather__`, and by the scopes that
 * tools require.
 */
export function permissionFilter(entries: ReadonlyMap<string, Entry>): ToolMiddleware {
  return {
    name: 'permissions',
    filterTools(tools, { tools: allowed, scopes }) {
      const names = new Set(allowed);
      const beginnings = allowed?.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1)) ?? [];
      const isNamed = (name: string) =>
        !allowed || names.has(name) || beginnings.some((beginning) => name.startsWith(beginning));
      const isInScope = (name: string) => {
        const scope = entries.get(name)?.tool.scope;
        return !scopes || scope === undefined || scopes.includes(scope);
      };
      return tools.filter(({ name }) => isNamed(name) && isInScope(name));
    },
  };
}
