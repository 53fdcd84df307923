import { availableParallelism } from 'node:os';
import { envIsolation, isolationOf } from '@harness/plugins';
import { envFleetLimits, envInteger, envList, envRedisAcks, envRedisUrl, loadConfig } from '@harness/runtime';
import { z } from 'zod';

const schema = z.object({
  REDIS_URL: envRedisUrl,
  HARNESS_REDIS_ACKS: envRedisAcks,
  /** Where this worker's sessions reach /mcp. */
  HARNESS_GATEWAY_URL: z.string().default('http://127.0.0.1:8080'),
  HARNESS_TOKEN_SECRET: z.string().optional(),
  HARNESS_DEFAULT_MODEL: z.string().optional(),
  /** Model of `ctx.invoker` when the plugin names none, e.g. the reviewer. */
  HARNESS_REVIEW_MODEL: z.string().default('haiku'),
  HARNESS_MAX_SESSIONS: envInteger(1, 1000).default(5),
  /** Sessions started for no thread yet, kept in stock for new ones; auto = as many as come while one is started. */
  HARNESS_SPARES: z.union([z.literal('auto'), envInteger(0, 100)]).default('auto'),
  HARNESS_SESSION_TTL_MS: envInteger(1000, 86_400_000).default(480_000),
  HARNESS_WORKER_TTL_MS: envInteger(500, 600_000).default(10_000),
  HARNESS_TURN_TIMEOUT_MS: envInteger(1000, 86_400_000).default(600_000),
  HARNESS_DRAIN_MS: envInteger(0, 3_600_000).default(30_000),
  ...envFleetLimits,
  /** Where /healthz, /readyz and /metrics are served: 0 = any free port; unset = nowhere. */
  HARNESS_WORKER_PORT: envInteger(0, 65535).optional(),
  HARNESS_WORKER_HOST: z.string().default('127.0.0.1'),
  /** Another executable that speaks the Agent SDK's protocol. */
  HARNESS_AGENT_EXECUTABLE: z.string().optional(),
  HARNESS_PLUGINS: envList.default([]),
  /** Built-in plugins that are left out. */
  HARNESS_DISABLED_PLUGINS: envList.default([]),
  HARNESS_UNPREFIXED_PLUGINS: envList.default([]),
  ...envIsolation,
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

/** What a session may know of this process's environment: how to reach its model, and nothing else. */
const modelVariable = /^(ANTHROPIC_|AWS_|CLAUDE_CODE_USE_(BEDROCK|VERTEX)$|CLOUD_ML_REGION$|GOOGLE_)/;
const proxyVariables = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'];

export function loadWorkerConfig(env = process.env) {
  const config = loadConfig(schema, env);
  const passed = Object.entries(env).filter(
    ([name]) => modelVariable.test(name) || proxyVariables.includes(name),
  );
  const sessionEnv = Object.fromEntries(passed) as Record<string, string>;
  // The Agent SDK wants a key even for an endpoint that needs none.
  const keyed = sessionEnv.ANTHROPIC_API_KEY || sessionEnv.ANTHROPIC_AUTH_TOKEN;
  if (sessionEnv.ANTHROPIC_BASE_URL && !keyed) sessionEnv.ANTHROPIC_API_KEY = 'none';
  return {
    ...config,
    sessionEnv,
    isolated: isolationOf(config, env),
    path: env.PATH ?? '',
    /** More starts at once make every one of them slower: a start is CPU-bound. */
    startsAtOnce: 2 * availableParallelism(),
  };
}
export type WorkerConfig = ReturnType<typeof loadWorkerConfig>;

/** The Agent SDK writes resumed transcripts to the machine's temporary folder: into ours, so that they go with it. */
export function useTempDir(dir: string): void {
  process.env.TMPDIR = dir;
}
