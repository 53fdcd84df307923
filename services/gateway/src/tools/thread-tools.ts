import { builtInToolsOf, type Thread } from '@harness/contracts';
import type { RouteDeps } from '../app-deps.ts';
import { sessionScopes } from '../http/credentials/scopes.ts';

/** The tools that the session of a thread has: those of the gateway, then built-in ones. Throws `thread_not_found`. */
export async function toolsOfThread(
  { dispatch, plugins, workspaces = 'off' }: Pick<RouteDeps, 'dispatch' | 'plugins' | 'workspaces'>,
  tenant: string,
  { threadId, workspace }: Pick<Thread, 'threadId' | 'workspace'>,
): Promise<string[]> {
  const allowedTools = await dispatch.threads.toolsOf(tenant, threadId);
  const view = { tools: allowedTools, tenant, scopes: sessionScopes, isSession: true };
  const offered = plugins.toolServer?.list(view).map(({ name }) => name) ?? [];
  return [...offered, ...(builtInToolsOf({ allowedTools, workspace }, workspaces) ?? [])];
}
