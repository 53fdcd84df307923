/** Configuration of the local commands: environment and options. */
import { ConfigError, envInteger, envRedisUrl, loadConfig, parseOptions } from '@harness/runtime';
import { z } from 'zod';

/** Enough for one machine; a larger number is a typing error. */
const maxWorkers = 64;

const schema = z.object({
  PORT: envInteger(1, 65535).default(8080),
  HOST: z.string().default('127.0.0.1'),
  REDIS_URL: envRedisUrl.optional(),
  HARNESS_API_KEY: z.string().optional(),
});

/** If any of these is set, a model is configured. */
const modelVariables = [
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
  'ANTHROPIC_BASE_URL',
];

type Env = Record<string, string | undefined>;

/**
 * Configuration of `npm start`. Child processes log from level `warn` and without the audit, so that the terminal stays
 * readable. Throws ConfigError.
 */
export function loadStartConfig(env: Env = process.env, args: string[] = process.argv.slice(2)) {
  const set = Object.entries(env).filter(([, value]) => value !== undefined && value !== '');
  return {
    ...loadConfig(schema, env),
    workers: parseWorkers(args),
    modelConfigured: modelVariables.some((name) => env[name]),
    env: {
      LOG_LEVEL: 'warn',
      HARNESS_AUDIT_STDOUT: '0',
      ...(Object.fromEntries(set) as Record<string, string>),
    },
  };
}

/**
 * Configuration of `npm run migrate`: the Redis to migrate (undefined = the embedded one of `npm start`), and whether to
 * migrate although a fleet is running. Throws ConfigError.
 */
export function loadMigrateConfig(env: Env = process.env, args: string[] = process.argv.slice(2)) {
  const options = { force: { type: 'boolean', default: false } } as const;
  const { force } = parseOptions(args, options, 'Usage: npm run migrate -- [--force]');
  return { url: loadConfig(schema.pick({ REDIS_URL: true }), env).REDIS_URL, force };
}

/** The environment of a private fleet: without the shell's keys, model, Redis and settings. */
export const bareEnv = (env: Env = process.env): Record<string, string> => ({
  PATH: env.PATH ?? '',
  LOG_LEVEL: 'warn',
});

function parseWorkers(args: string[]): number {
  const options = { workers: { type: 'string' } } as const;
  const { workers } = parseOptions(args, options, 'Usage: npm start -- [--workers N]');
  const count = Number(workers ?? 1);
  if (Number.isInteger(count) && count >= 1 && count <= maxWorkers) return count;
  throw new ConfigError(`--workers must be a whole number from 1 to ${maxWorkers}.`);
}
