/** Configuration of the local commands: environment and options. */
import { join } from 'node:path';
import {
  ConfigError,
  envInteger,
  envRedisUrl,
  envWorkspaces,
  loadConfig,
  parseOptions,
} from '@harness/runtime';
import { z } from 'zod';

/** Enough for one machine; a larger number is a typing error. */
const maxWorkers = 64;

const { HARNESS_FILES_DIR: envFilesDir } = envWorkspaces;

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

/**
 * Configuration of `npm run files`: what to do, Redis (undefined = the one of `npm start` in this folder, which runs), and the
 * folder of the files (undefined = that of `npm start`). Throws ConfigError.
 */
export function loadFilesConfig(env: Env = process.env, args: string[] = process.argv.slice(2)) {
  const [command] = args;
  if (args.length !== 1 || (command !== 'verify' && command !== 'collect'))
    throw new ConfigError('Usage: npm run files -- verify|collect');
  const picked = loadConfig(schema.pick({ REDIS_URL: true }).extend({ HARNESS_FILES_DIR: envFilesDir }), env);
  return {
    command,
    url: picked.REDIS_URL,
    filesDir: picked.HARNESS_FILES_DIR,
    ownFolder: join(process.cwd(), '.harness'),
  } as const;
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
