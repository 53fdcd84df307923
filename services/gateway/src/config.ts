import { ConfigError, envInteger, envList, loadConfig } from '@harness/runtime';
import { z } from 'zod';
import { type ApiKey, apiKeyOf, loadApiKeys } from './auth.ts';
import { isOrigin, isTrustedUrl, loopbackHosts, oauthSettingsOf } from './oauth/settings.ts';
import { tenantPattern } from './scopes.ts';

const trustedUrl = z.string().refine(isTrustedUrl, 'must be an https URL (http only on loopback)');

const schema = z.object({
  PORT: envInteger(0, 65535).default(8080),
  HOST: z.string().default('127.0.0.1'),
  REDIS_URL: z.string(),
  HARNESS_API_KEY: z
    .string()
    .regex(/^\S{8,}$/, 'must have at least 8 characters and no white space')
    .optional(),
  HARNESS_API_KEYS_FILE: z.string().optional(),
  HARNESS_TOKEN_SECRET: z.string().min(16, 'must have at least 16 characters').optional(),
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
  /** Plugins whose tools and prompts may go by their bare names. */
  HARNESS_UNPREFIXED_PLUGINS: envList.default([]),
  HARNESS_RETENTION_MS: envInteger(60_000, 10 * 365 * 86_400_000).optional(),
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
  return { ...config, keys, oauth };
}
export type GatewayConfig = Awaited<ReturnType<typeof loadGatewayConfig>>;
