import type { ToolLocking } from '@harness/plugin-kit';
import { envIsolation, envPluginTenants, isolationOf, pluginTenantsOf } from '@harness/plugins';
import {
  ConfigError,
  envFleetLimits,
  envInteger,
  envList,
  envListOf,
  envRedisAcks,
  envRedisUrl,
  envSecretPatterns,
  envTokenSecrets,
  envTracing,
  envWorkspaces,
  isOrigin,
  loadConfig,
  scrubberOf,
  workspacesOf,
} from '@harness/runtime';
import { z } from 'zod';
import { createAddressOf } from './http/client-address.ts';
import { tenantPattern } from './http/credentials/scopes.ts';
import { apiKeyOf, loadApiKeys } from './keys/api-keys.ts';
import { loadLimits } from './limits/limits-file.ts';
import { isTrustedUrl, loopbackHosts, oauthSettingsOf } from './oauth/settings.ts';
import { readToolLock } from './tools/tool-lock-file.ts';
import { defaultChildren } from './upstreams/connection/child-slots.ts';
import { loadUpstreams } from './upstreams/file/upstreams-file.ts';

const trustedUrl = z.string().refine(isTrustedUrl, 'must be an https URL (http only on loopback)');

const schema = z.object({
  PORT: envInteger(0, 65535).default(8080),
  HOST: z.string().default('127.0.0.1'),
  REDIS_URL: envRedisUrl,
  HARNESS_REDIS_ACKS: envRedisAcks,
  HARNESS_API_KEY: z
    .string()
    .regex(/^\S{8,}$/, 'must have at least 8 characters and no white space')
    .optional(),
  HARNESS_API_KEYS_FILE: z.string().optional(),
  HARNESS_TOKEN_SECRET: envTokenSecrets,
  /**
   * At shutdown: time between the failing of /readyz and the end of the server, ms, for load balancers to
   * notice.
   */
  HARNESS_LEAVE_MS: envInteger(0, 600_000).default(0),
  /** Host names, besides loopback, that requests may have in their Host header. */
  HARNESS_ALLOWED_HOSTS: envListOf(
    /^(\[[0-9a-f:]+\]|[a-z0-9._-]+)$/i,
    'must be host names, without scheme and port',
  ).default([]),
  /** Limits of tenants and keys. */
  HARNESS_LIMITS_FILE: z.string().optional(),
  /** Proxies whose `X-Forwarded-For` is believed. */
  HARNESS_TRUSTED_PROXIES: envList.default([]),
  /** Origins (`https://app.example.com`) whose web pages may call the gateway. */
  HARNESS_ALLOWED_ORIGINS: envListOf(
    /^([a-z][a-z0-9+.-]*:\/\/[^\s/?#]+|null)$/i,
    'must be origins, like https://app.example.com',
  ).default([]),
  HARNESS_PUBLIC_URL: z
    .string()
    .refine(isOrigin, 'must be an address without a path, like https://harness.example.com')
    .optional(),
  HARNESS_OAUTH_ISSUER: trustedUrl.optional(),
  HARNESS_OAUTH_AUDIENCE: z.string().optional(),
  HARNESS_OAUTH_JWKS_URL: trustedUrl.optional(),
  HARNESS_OAUTH_TENANT_CLAIM: z.string().default('tenant'),
  HARNESS_OAUTH_TENANT: z.string().regex(tenantPattern).optional(),
  HARNESS_PLUGINS: envList.default([]),
  /** Built-in plugins that are not loaded; other plugins may take their names. */
  HARNESS_DISABLED_PLUGINS: envList.default([]),
  /** The accepted descriptions and schemas of the tools. */
  HARNESS_TOOL_LOCK_FILE: z.string().optional(),
  /**
   * report: a tool that differs from the lock is logged; enforce: it is also withheld. Default: report, if
   * there is a file.
   */
  HARNESS_TOOL_LOCK: z.enum(['off', 'report', 'enforce']).optional(),
  /** auto: sessions whose tools have too many names search for them; on: all sessions; off: none. */
  HARNESS_TOOL_SEARCH: z.enum(['auto', 'on', 'off']).default('auto'),
  HARNESS_SKILLS_DIR: z.string().optional(),
  /** marked: skills with `user-invocable: true` are slash commands; all: also those without the field. */
  HARNESS_SKILL_COMMANDS: z.enum(['marked', 'all']).default('marked'),
  /** 1: code in a skill's folder is loaded into the gateway. */
  HARNESS_SKILLS_CODE: z.enum(['0', '1']).default('0'),
  HARNESS_AGENTS_DIR: z.string().optional(),
  /** Other people's MCP servers, in the formats that people have. */
  HARNESS_UPSTREAMS_FILE: z.string().optional(),
  /** Most child processes of upstreams at this gateway, those of threads included. */
  HARNESS_UPSTREAM_CHILDREN: envInteger(1, 10_000).default(defaultChildren),
  /** Plugins whose tools and prompts may have names without the plugin prefix. */
  HARNESS_UNPREFIXED_PLUGINS: envList.default([]),
  ...envIsolation,
  ...envPluginTenants,
  ...envFleetLimits,
  ...envSecretPatterns,
  ...envTracing,
  ...envWorkspaces,
  HARNESS_TURN_TIMEOUT_MS: envInteger(1000, 86_400_000).default(600_000),
  /** A file to which audit records are appended, one JSON object a line. */
  HARNESS_AUDIT_FILE: z.string().optional(),
  /** 0: audit records are not written to standard output. */
  HARNESS_AUDIT_STDOUT: z.enum(['0', '1']).default('1'),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

/**
 * Reads and validates the environment, the API keys and the tool lock. Throws ConfigError with every problem
 * of a variable; also when the gateway would listen beyond loopback without credentials.
 */
export async function loadGatewayConfig(env = process.env) {
  const config = loadConfig(schema, env);
  const keys = config.HARNESS_API_KEY ? [apiKeyOf(config.HARNESS_API_KEY)] : [];
  const file = config.HARNESS_API_KEYS_FILE;
  /** The keys of the file as they are now; the gateway follows it. */
  const keyFile = file === undefined ? undefined : { path: file, keys: await loadApiKeys(file) };
  const limitsPath = config.HARNESS_LIMITS_FILE;
  const limitsFile =
    limitsPath === undefined ? undefined : { path: limitsPath, limits: await loadLimits(limitsPath) };
  const upstreamsPath = config.HARNESS_UPSTREAMS_FILE;
  const upstreamsFile =
    upstreamsPath === undefined
      ? undefined
      : { path: upstreamsPath, content: await loadUpstreams(upstreamsPath, env), env };
  createAddressOf(config.HARNESS_TRUSTED_PROXIES); // throws for an entry that it cannot read
  const oauth = oauthSettingsOf(config);
  if (keys.length === 0 && !keyFile?.keys.length && !oauth && !loopbackHosts.has(config.HOST)) {
    throw new ConfigError(
      `HOST=${config.HOST} makes the gateway reachable from other machines, but no key is set: anybody could run agents. Set HARNESS_API_KEY, HARNESS_API_KEYS_FILE or HARNESS_OAUTH_ISSUER, or HOST=127.0.0.1.`,
    );
  }
  return {
    ...config,
    keys,
    keyFile,
    limitsFile,
    upstreamsFile,
    oauth,
    isolated: isolationOf(config, env),
    scrubber: scrubberOf(config, env),
    toolLock: await toolLockOf(config),
    workspaces: workspacesOf(config),
    tenantsOf: pluginTenantsOf(config.HARNESS_PLUGIN_TENANTS),
  };
}
/** What `loadGatewayConfig` returns. */
export type GatewayConfig = Awaited<ReturnType<typeof loadGatewayConfig>>;

/** Whether a credential is needed. Otherwise every process that reaches the gateway (on loopback only) may use it. */
export const hasKeys = ({ keys, keyFile, oauth }: GatewayConfig): boolean =>
  keys.length > 0 || keyFile !== undefined || oauth !== undefined;

async function toolLockOf(config: z.infer<typeof schema>): Promise<ToolLocking | undefined> {
  const { HARNESS_TOOL_LOCK_FILE: file, HARNESS_TOOL_LOCK: mode = file ? 'report' : 'off' } = config;
  if (mode === 'off') return undefined;
  if (!file)
    throw new ConfigError(
      `HARNESS_TOOL_LOCK=${mode} needs HARNESS_TOOL_LOCK_FILE: set it to the lock file that "npm run tools:lock" writes.`,
    );
  return { lock: await readToolLock(file), enforce: mode === 'enforce' };
}

const lockSchema = schema
  .pick({
    HARNESS_PLUGINS: true,
    HARNESS_DISABLED_PLUGINS: true,
    HARNESS_UNPREFIXED_PLUGINS: true,
    HARNESS_UPSTREAMS_FILE: true,
  })
  .extend({ HARNESS_TOOL_LOCK_FILE: z.string({ error: 'must name the file to write' }) });

/** Reads the variables that `npm run tools:lock` needs. Throws ConfigError. */
export function loadLockConfig(env = process.env) {
  const config = loadConfig(lockSchema, env);
  return {
    modulePaths: config.HARNESS_PLUGINS,
    leftOut: config.HARNESS_DISABLED_PLUGINS,
    unprefixed: config.HARNESS_UNPREFIXED_PLUGINS,
    upstreamsFile: config.HARNESS_UPSTREAMS_FILE,
    env,
    file: config.HARNESS_TOOL_LOCK_FILE,
  };
}

/** Reads the variable that `npm run keys` needs; undefined = unset. Throws ConfigError. */
export function loadKeysConfig(env = process.env): string | undefined {
  return loadConfig(schema.pick({ HARNESS_API_KEYS_FILE: true }), env).HARNESS_API_KEYS_FILE;
}
