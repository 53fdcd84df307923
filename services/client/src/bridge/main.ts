/**
 * `npm run bridge`: an MCP server on standard input and output that offers what a gateway offers. Each client has its own
 * process, which ends when its standard input ends. Standard output carries only MCP.
 */
import { runMain } from '@harness/runtime';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { createBridge } from './bridge.ts';
import { bridgeUsage, loadBridgeConfig } from './config.ts';
import { createGatewayFetch } from './gateway-fetch.ts';
import { createToolView } from './tool-view.ts';

/** Time limit of a graceful end, which cancels open requests and ends the session, ms. */
const endLimitMs = 2_000;

runMain(async () => {
  const { mcpUrl, apiKey, help, ...view } = loadBridgeConfig();
  if (help) {
    console.log(bridgeUsage);
    return;
  }
  const log = (line: string) => void process.stderr.write(`bridge: ${line}\n`);
  const gatewayFetch = createGatewayFetch({
    log,
    mayRepeat: (message) => bridge.mayRepeat(message),
    onBack: () => bridge.notifyChanged(),
    onLost: (lastEventId) => bridge.loseStream(lastEventId),
  });
  const gateway = new StreamableHTTPClientTransport(mcpUrl, {
    fetch: gatewayFetch.fetch,
    requestInit: apiKey ? { headers: { authorization: `Bearer ${apiKey}` } } : {},
    // gatewayFetch retries requests; these options only set the pause after a stream has ended.
    reconnectionOptions: {
      initialReconnectionDelay: 250,
      maxReconnectionDelay: 10_000,
      reconnectionDelayGrowFactor: 2,
      maxRetries: Number.POSITIVE_INFINITY,
    },
  });
  const bridge = createBridge({
    client: new StdioServerTransport(),
    gateway: gateway as Transport,
    view: createToolView(view),
    log,
    giveUp: gatewayFetch.giveUp,
  });

  let ending = false;
  const end = async () => {
    if (ending) return;
    ending = true;
    setTimeout(() => process.exit(0), endLimitMs).unref();
    await bridge.cancelAll();
    await gateway.terminateSession().catch(() => undefined); // the session expires by itself
    process.exit(0);
  };
  process.stdin.once('end', end).once('close', end);
  process.stdout.once('error', end); // the client no longer reads
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, end);

  await bridge.start();
  log(`offers ${view.plugin ? `the tools of ${view.plugin}` : 'everything'} at ${mcpUrl.href}`);
});
