import type { ToolMiddleware } from './middleware.ts';
import type { Entry } from './tool-server.ts';

/** An allow-list of names, `weather__*` for all that begin so, and the scopes that tools ask for. */
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
