/**
 * `npm run bridge`: an MCP server on standard input and output that offers what a gateway offers. One process for each
 * client; it ends with its standard input. Nothing but MCP goes to standard output.
 */
import { runMain } from '@harness/runtime';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { createBridge } from './bridge.ts';
import { bridgeUsage, loadBridgeConfig } from './config.ts';
import { createGatewayFetch } from './gateway-fetch.ts';
import { createToolView } from './tool-view.ts';

/** Longest time for a good end: what is under way is cancelled, the session ended, ms. */
const endLimitMs = 2_000;

runMain(async () => {
  const { mcpUrl, apiKey, help, ...view } = loadBridgeConfig();
  if (help) {
    console.log(bridgeUsage);
    return;
  }
  const say = (line: string) => void process.stderr.write(`bridge: ${line}\n`);
  const gatewayFetch = createGatewayFetch({
    say,
    mayRepeat: (message) => bridge.mayRepeat(message),
    onBack: () => bridge.tellChanged(),
    onLost: (lastEventId) => bridge.loseStream(lastEventId),
  });
  const gateway = new StreamableHTTPClientTransport(mcpUrl, {
    fetch: gatewayFetch.fetch,
    requestInit: apiKey ? { headers: { authorization: `Bearer ${apiKey}` } } : {},
    // The fetch below it waits for the gateway; here only the pause after a stream that ended.
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
    say,
    giveUp: gatewayFetch.giveUp,
  });

  let ending = false;
  const end = async () => {
    if (ending) return;
    ending = true;
    setTimeout(() => process.exit(0), endLimitMs).unref();
    await bridge.cancelAll();
    await gateway.terminateSession().catch(() => undefined); // it expires by itself
    process.exit(0);
  };
  process.stdin.once('end', end).once('close', end);
  process.stdout.once('error', end); // nobody reads any more
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, end);

  await bridge.start();
  say(`offers ${view.plugin ? `the tools of ${view.plugin}` : 'what there is'} at ${mcpUrl.href}`);
});
