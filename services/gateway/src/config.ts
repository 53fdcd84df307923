import type { ToolLocking } from '@harness/plugin-kit';
import { envIsolation, isolationOf } from '@harness/plugins';
import {
  ConfigError,
  envFleetLimits,
  envInteger,
  envList,
  envRedisAcks,
  envRedisUrl,
  loadConfig,
} from '@harness/runtime';
import { z } from 'zod';
import { type ApiKey, apiKeyOf, loadApiKeys } from './http/authenticate.ts';
import { tenantPattern } from './http/scopes.ts';
import { isOrigin, isTrustedUrl, loopbackHosts, oauthSettingsOf } from './oauth/settings.ts';
import { readToolLock } from './tools/tool-lock-file.ts';

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
  HARNESS_TOKEN_SECRET: z.string().min(16, 'must have at least 16 characters').optional(),
  /** At the end it takes requests for so long while /readyz says that it leaves, for a load balancer to see it. */
  HARNESS_LEAVE_MS: envInteger(0, 600_000).default(0),
  /** Host names, besides loopback, by which callers may address this gateway. */
  HARNESS_ALLOWED_HOSTS: envList.default([]),
  /** Origins (`https://app.example.com`) whose pages may call it. */
  HARNESS_ALLOWED_ORIGINS: envList.default([]),
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
  /** Built-in plugins that are left out; their names are free. */
  HARNESS_DISABLED_PLUGINS: envList.default([]),
  /** What the tools were accepted to say of themselves. */
  HARNESS_TOOL_LOCK_FILE: z.string().optional(),
  /** report: differences are warnings; enforce: they are withheld, too. Default: report where there is a file. */
  HARNESS_TOOL_LOCK: z.enum(['off', 'report', 'enforce']).optional(),
  HARNESS_SKILLS_DIR: z.string().optional(),
  /** marked: skills with `user-invocable: true` are slash commands; all: those without the field are, too. */
  HARNESS_SKILL_COMMANDS: z.enum(['marked', 'all']).default('marked'),
  /** 1: code beside a skill is loaded into the gateway. */
  HARNESS_SKILLS_CODE: z.enum(['0', '1']).default('0'),
  HARNESS_AGENTS_DIR: z.string().optional(),
  /** Plugins whose tools and prompts may go by their bare names. */
  HARNESS_UNPREFIXED_PLUGINS: envList.default([]),
  ...envIsolation,
  ...envFleetLimits,
  HARNESS_TURN_TIMEOUT_MS: envInteger(1000, 86_400_000).default(600_000),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

export async function loadGatewayConfig(env = process.env) {
  const config = loadConfig(schema, env);
  const keys: ApiKey[] = [
    ...(config.HARNESS_API_KEY ? [apiKeyOf(config.HARNESS_API_KEY)] : []),
    ...(config.HARNESS_API_KEYS_FILE ? await loadApiKeys(config.HARNESS_API_KEYS_FILE) : []),
  ];
  const oauth = oauthSettingsOf(config);
  if (keys.length === 0 && !oauth && !loopbackHosts.has(config.HOST)) {
    throw new ConfigError(
      `HOST=${config.HOST} opens the gateway to other machines, and no key is set: anybody could run agents. Set HARNESS_API_KEY (or HARNESS_API_KEYS_FILE, or HARNESS_OAUTH_ISSUER).`,
    );
  }
  return { ...config, keys, oauth, isolated: isolationOf(config, env), toolLock: await toolLockOf(config) };
}
export type GatewayConfig = Awaited<ReturnType<typeof loadGatewayConfig>>;

async function toolLockOf(config: z.infer<typeof schema>): Promise<ToolLocking | undefined> {
  const { HARNESS_TOOL_LOCK_FILE: file, HARNESS_TOOL_LOCK: mode = file ? 'report' : 'off' } = config;
  if (mode === 'off') return undefined;
  if (!file) throw new ConfigError(`HARNESS_TOOL_LOCK=${mode} needs HARNESS_TOOL_LOCK_FILE.`);
  return { lock: await readToolLock(file), enforce: mode === 'enforce' };
}

const lockSchema = schema.pick({ HARNESS_PLUGINS: true, HARNESS_DISABLED_PLUGINS: true }).extend({
  HARNESS_TOOL_LOCK_FILE: z.string({ error: 'must say which file to write' }),
});

/** For `npm run tools:lock`, which needs no more. */
export function loadLockConfig(env = process.env) {
  const config = loadConfig(lockSchema, env);
  return {
    modulePaths: config.HARNESS_PLUGINS,
    leftOut: config.HARNESS_DISABLED_PLUGINS,
    file: config.HARNESS_TOOL_LOCK_FILE,
  };
}
