import type { Query } from '@anthropic-ai/claude-agent-sdk';

/** The tool server of a session. */
export interface McpEndpoint {
  url: string;
  token: string;
}

/** Longest wait for the MCP server to connect, ms; a turn must not run without its tools. */
const connectLimitMs = 20_000;
const connectPollMs = 25;

/**
 * Resolves when the MCP server is connected. Throws after `connectLimitMs`, and at once when the thread was lost: the token does
 * not become valid again.
 */
export async function connected(q: Query): Promise<void> {
  const limit = AbortSignal.timeout(connectLimitMs);
  for (;;) {
    const [server] = await q.mcpServerStatus();
    if (server?.status === 'connected') return;
    if (limit.aborted || server?.error?.includes('stale_epoch'))
      throw new Error(
        `its tool server is ${server?.status ?? 'missing'} (${server?.error ?? 'no reason given'})`,
      );
    await new Promise((resolve) => setTimeout(resolve, connectPollMs));
  }
}
