/** The configuration of the bridge: environment and options. */
import { ConfigError, loadConfig, parseOptions } from '@harness/runtime';
import { z } from 'zod';
import { gatewayVariables } from '../gateway-variables.ts';

const schema = z.object(gatewayVariables);
const options = { plugin: { type: 'string' }, bare: { type: 'boolean' }, help: { type: 'boolean' } } as const;

/** The parsed configuration. */
export interface BridgeConfig {
  /** URL of the gateway's MCP endpoint. */
  mcpUrl: URL;
  apiKey: string | undefined;
  /** Offer only this plugin's tools; undefined = offer everything. */
  plugin: string | undefined;
  /** Offer its tools with bare names. */
  bare: boolean;
  help: boolean;
}

/** The text of --help. */
export const bridgeUsage = `npm run --silent bridge -- [--plugin NAME [--bare]]
  An MCP server on standard input and output that offers what a gateway offers.
  --plugin NAME   only the tools of this plugin
  --bare          without "NAME__" before their names
  --help          prints this
  HARNESS_URL     the gateway (default http://127.0.0.1:8080)
  HARNESS_API_KEY the API key, if the gateway requires one`;

/** Throws ConfigError for an invalid option or value. */
export function loadBridgeConfig(args = process.argv.slice(2), env = process.env): BridgeConfig {
  const { HARNESS_URL, HARNESS_API_KEY } = loadConfig(schema, env);
  const { plugin, bare = false, help = false } = parseOptions(args, options, bridgeUsage);
  if (bare && plugin === undefined) throw new ConfigError(`--bare needs --plugin.\n\n${bridgeUsage}`);
  return { mcpUrl: new URL(`${HARNESS_URL}/mcp`), apiKey: HARNESS_API_KEY, plugin, bare, help };
}
