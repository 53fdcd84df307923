import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { envIsolation, envPluginTenants, isolationOf } from '@harness/plugins';
import {
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

const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

const schema = z.object({
  REDIS_URL: envRedisUrl,
  HARNESS_REDIS_ACKS: envRedisAcks,
  /** The gateway at which this worker's sessions reach /mcp. */
  HARNESS_GATEWAY_URL: z
    .string()
    .refine(isOrigin, 'must be an http or https URL without a path, like http://gateway:8080')
    .default('http://127.0.0.1:8080'),
  HARNESS_TOKEN_SECRET: envTokenSecrets,
  /** Passed to sessions, as the other variables of the model are. */
  ANTHROPIC_BASE_URL: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
  HARNESS_DEFAULT_MODEL: z.string().optional(),
  /** Model of reviews (plugin `validation`). */
  HARNESS_REVIEW_MODEL: z.string().default('haiku'),
  HARNESS_MAX_SESSIONS: envInteger(1, 1000).default(5),
  /**
   * Spares: sessions started in advance for new threads; auto = one, and as many more as new threads arrive
   * during one start.
   */
  HARNESS_SPARES: z.union([z.literal('auto'), envInteger(0, 100)]).default('auto'),
  HARNESS_SESSION_TTL_MS: envInteger(1000, 86_400_000).default(480_000),
  HARNESS_WORKER_TTL_MS: envInteger(500, 600_000).default(10_000),
  HARNESS_TURN_TIMEOUT_MS: envInteger(1000, 86_400_000).default(600_000),
  HARNESS_DRAIN_MS: envInteger(0, 3_600_000).default(30_000),
  ...envFleetLimits,
  ...envSecretPatterns,
  ...envTracing,
  ...envWorkspaces,
  /** Hosts that sandboxes reach by HTTP and HTTPS; `*.example.com` = all below it. */
  HARNESS_EGRESS: envListOf(
    /^((\*\.)?[a-z0-9._-]+|[0-9a-f]*:[0-9a-f:]+)$/i,
    'must be host names, without scheme and port',
  ).default([]),
  /** How sessions are enclosed; auto = as strictly as this machine permits. */
  HARNESS_SANDBOX: z.enum(['auto', 'bubblewrap', 'bubblewrap-bound-proc']).default('auto'),
  /** Limits of each sandbox: memory of all its processes, MiB. */
  HARNESS_SANDBOX_MEMORY_MB: envInteger(768, 1_048_576).default(2_048),
  /** Processes and threads. */
  HARNESS_SANDBOX_PROCESSES: envInteger(64, 100_000).default(512),
  /** Port of /healthz, /readyz and /metrics: 0 = any free port; unset = not served. */
  HARNESS_WORKER_PORT: envInteger(0, 65535).optional(),
  HARNESS_WORKER_HOST: z.string().default('127.0.0.1'),
  /** Replaces the Agent SDK's executable; must speak its protocol. */
  HARNESS_AGENT_EXECUTABLE: z.string().refine(isFile, 'must be the path of a file').optional(),
  HARNESS_PLUGINS: envList.default([]),
  /** Built-in plugins that are not loaded. */
  HARNESS_DISABLED_PLUGINS: envList.default([]),
  HARNESS_UNPREFIXED_PLUGINS: envList.default([]),
  ...envIsolation,
  ...envPluginTenants,
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

/** Variables that a session inherits from this process: only those for reaching the model. */
const modelVariable = /^(ANTHROPIC_|AWS_|CLAUDE_CODE_USE_(BEDROCK|VERTEX)$|CLOUD_ML_REGION$|GOOGLE_)/;
const proxyVariables = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'];

const mib = 1024 * 1024;

/** Reads and validates the environment. Throws ConfigError with every problem. */
export function loadWorkerConfig(env = process.env) {
  const config = loadConfig(schema, env);
  const passed = Object.entries(env).filter(
    ([name]) => modelVariable.test(name) || proxyVariables.includes(name),
  );
  const sessionEnv = Object.fromEntries(passed) as Record<string, string>;
  // The Agent SDK requires a key even for an endpoint that needs none.
  const keyed = sessionEnv.ANTHROPIC_API_KEY || sessionEnv.ANTHROPIC_AUTH_TOKEN;
  if (sessionEnv.ANTHROPIC_BASE_URL && !keyed) sessionEnv.ANTHROPIC_API_KEY = 'none';
  return {
    ...config,
    sessionEnv,
    workspaces: workspacesOf(config),
    sandboxLimits: sandboxLimitsOf(config),
    isolated: isolationOf(config, env),
    scrubber: scrubberOf(config, env),
    path: env.PATH ?? '',
    /** Limit of concurrent session starts: they are CPU-bound, so more would slow down all of them. */
    startsAtOnce: 2 * availableParallelism(),
  };
}

/** Single processes and files may take what the sandbox may as a whole: its sum is checked once a second. */
const sandboxLimitsOf = (config: z.infer<typeof schema>) => ({
  memoryBytes: config.HARNESS_SANDBOX_MEMORY_MB * mib,
  diskBytes: config.HARNESS_THREAD_FILES_MB * mib,
  files: config.HARNESS_THREAD_FILES,
  processes: config.HARNESS_SANDBOX_PROCESSES,
  dataBytes: config.HARNESS_SANDBOX_MEMORY_MB * mib,
  fileBytes: config.HARNESS_THREAD_FILES_MB * mib,
  tmpBytes: Math.min(256, config.HARNESS_SANDBOX_MEMORY_MB / 4) * mib,
});

/** What `loadWorkerConfig` returns. */
export type WorkerConfig = ReturnType<typeof loadWorkerConfig>;

/**
 * Sets TMPDIR, into which the Agent SDK writes resumed transcripts, to a folder that is deleted with the
 * worker.
 */
export function useTempDir(dir: string): void {
  process.env.TMPDIR = dir;
}
