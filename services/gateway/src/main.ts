import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { createDispatch, type Dispatch, startBusSweeper } from '@harness/dispatch';
import type { PluginHost } from '@harness/plugin-kit';
import { builtInPluginsWith, type StartedPlugins, skillPluginName, startPlugins } from '@harness/plugins';
import {
  atMostOncePerSecond,
  ConfigError,
  connectRedis,
  createLogger,
  fleetLimitsOf,
  type LineOutput,
  type Logger,
  listenErrorOf,
  onShutdown,
  openLineFile,
  openStandardOutput,
  requireDatabase,
  runMain,
  startTracing,
  type Tracing,
  watchEscapes,
} from '@harness/runtime';
import { openFileStore, openSkillStore } from '@harness/workspaces';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { createApp } from './app.ts';
import { type GatewayConfig, hasKeys, loadGatewayConfig } from './config.ts';
import { taskFilesIn } from './files/task-files.ts';
import { followKeyFile } from './keys/key-file.ts';
import { noteKeys } from './keys/note-keys.ts';
import { followLimitsFile } from './limits/limits-file.ts';
import { createTenantLimits, noLimitsFile, quotasIn, type TenantLimits } from './limits/tenant-limits.ts';
import { createThreadInvoker } from './threads/thread-invoker.ts';
import { callerScope } from './tools/caller-scope.ts';
import { followUpstreamsFile } from './upstreams/file/upstreams-file.ts';

runMain(async () => {
  const config = await loadGatewayConfig();
  const output = openStandardOutput();
  const { scrubber } = config;
  const logger = createLogger('gateway', config.LOG_LEVEL, { destination: output, scrubber });
  const auditOutputs = auditOutputsOf(config, { output, logger });
  const escapes = watchEscapes(logger);
  const instance = randomUUID().slice(0, 8);
  const tracing = await startTracing(config, { service: 'harness-gateway', instance, scrubber });
  const files = followFiles(config, logger);
  const limits = createTenantLimits(() => files.limits?.current() ?? noLimitsFile);
  const { dispatch, disconnect } = await joinFleet(config, { logger, limits, tracing });
  escapes.onEscape(() => dispatch.countEscape().catch(() => undefined));
  const tokenSecrets = await dispatch.tokenSecrets(config.HARNESS_TOKEN_SECRET);
  const plugins = await startGatewayPlugins(config, { dispatch, logger, namingSecret: tokenSecrets.naming });
  const busSweeper = startBusSweeper({ bus: dispatch.bus, logger });

  const stopNoting = await noteKeys({ dispatch, keys: config.keys, keyFile: files.keys, logger });
  await warnIfOpen(config, { dispatch, logger });
  const leave = new AbortController();
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const app = await createApp({
    ...configuredDepsOf(config),
    registry,
    shutdown: leave.signal,
    dispatch,
    plugins,
    logger,
    tracing,
    auditOutputs,
    keyFile: files.keys,
    limits,
    upstreams: {
      file: files.upstreams,
      env: config.upstreamsFile?.env ?? {},
      unprefixed: config.HARNESS_UNPREFIXED_PLUGINS,
      maxChildren: config.HARNESS_UPSTREAM_CHILDREN,
    },
    tokenSecrets,
  });
  // For "localhost" Fastify opens a second server, on ::1, which this gateway's checks below the routes would not cover.
  const host = config.HOST === 'localhost' ? '127.0.0.1' : config.HOST;
  const url = await app.listen({ port: config.PORT, host }).catch((error) => {
    throw listenErrorOf(error, { host: ['HOST', config.HOST], port: ['PORT', config.PORT] });
  });

  onShutdown(
    async () => {
      // /readyz fails, so that load balancers stop sending; requests that still arrive are served.
      leave.abort();
      await setTimeout(config.HARNESS_LEAVE_MS);
      await app.close();
      stopNoting();
      files.close();
      busSweeper.close();
      await plugins.close();
      await dispatch.close();
      disconnect();
      await tracing.close();
      for (const one of auditOutputs) one.flushSync();
    },
    { logger, limitMs: config.HARNESS_LEAVE_MS + 15_000, escapes },
  );
  process.send?.({ ready: true, url, plugins: offeredBy(plugins) });
});

/** Follows the operator's files, which are read again when they change. */
function followFiles({ keyFile, limitsFile, upstreamsFile }: GatewayConfig, logger: Logger) {
  const files = {
    keys: keyFile && followKeyFile(keyFile.path, { keys: keyFile.keys, logger }),
    limits: limitsFile && followLimitsFile(limitsFile.path, { ...limitsFile, logger }),
    upstreams: upstreamsFile && followUpstreamsFile(upstreamsFile, logger),
  };
  return {
    ...files,
    close() {
      for (const file of Object.values(files)) file?.close();
    },
  };
}

/**
 * Connects to Redis and joins the fleet as a gateway. Throws ConfigError when the data in Redis is of a release that this one
 * cannot work beside.
 */
async function joinFleet(
  config: GatewayConfig,
  { logger, limits, tracing }: { logger: Logger; limits: TenantLimits; tracing: Tracing },
): Promise<{ dispatch: Dispatch; disconnect(): void }> {
  const connect = () => connectRedis(config.REDIS_URL, { logger, patience: 'fail-fast' });
  const [redis, subscriber] = [connect(), connect()];
  const dispatch = createDispatch({
    redis,
    subscriber,
    logger,
    limits: fleetLimitsOf(config),
    acks: config.HARNESS_REDIS_ACKS,
    quotaOf: quotasIn(limits),
    workspacesOff: config.workspaces ? undefined : 'HARNESS_WORKSPACES is off.',
    traceNow: tracing.current,
  });
  await untilWritable(dispatch, [redis, subscriber]);
  await requireDatabase(redis);
  const admission = await dispatch.dataVersion.enter();
  if (admission.outcome === 'refused') throw new ConfigError(admission.message);
  await dispatch.replicas.join();
  return { dispatch, disconnect: () => redis.disconnect() };
}

/** Starts the plugins. Broadcasts of plugins anywhere in the fleet reach those of this gateway. */
async function startGatewayPlugins(
  config: GatewayConfig,
  { dispatch, logger, namingSecret }: { dispatch: Dispatch; logger: Logger; namingSecret: string },
): Promise<StartedPlugins> {
  const plugins = await startPlugins({
    dispatch,
    role: 'gateway',
    logger,
    modulePaths: config.HARNESS_PLUGINS,
    ...(config.workspaces && {
      builtIn: builtInPluginsWith(taskFilesIn(openFileStore({ dir: config.workspaces.filesDir }))),
    }),
    leftOut: config.HARNESS_DISABLED_PLUGINS,
    toolLock: config.toolLock,
    unprefixed: config.HARNESS_UNPREFIXED_PLUGINS,
    tenantsOf: config.tenantsOf,
    isolated: config.isolated,
    scrubber: config.scrubber,
    namingSecret,
    outerCall: () => callerScope.getStore()?.call,
    tenantNow: () => callerScope.getStore()?.tenant,
    traceNow: () => callerScope.getStore()?.call?.meta.traceparent,
    invokerOf: (plugin) => createThreadInvoker({ dispatch, namingSecret, plugin }),
  });
  dispatch.replicas.onSignal((signal) => {
    if (signal.kind === 'broadcast') void plugins.hooks.broadcast(signal.event, signal.data);
  });
  return plugins;
}

/** Warns when another gateway of the fleet asks for keys and this one does not. */
async function warnIfOpen(
  config: GatewayConfig,
  { dispatch, logger }: { dispatch: Dispatch; logger: Logger },
): Promise<void> {
  if (!hasKeys(config) && (await dispatch.issuedKeys.tenants()).length > 0)
    logger.warn(
      'the API has made keys, but this gateway has none of its own: everybody on this machine may use it without a key. Set HARNESS_API_KEY, HARNESS_API_KEYS_FILE or HARNESS_OAUTH_ISSUER.',
    );
}

/** What the app takes from the configuration as it is. */
const configuredDepsOf = (config: GatewayConfig) => ({
  scrubber: config.scrubber,
  keys: config.keys,
  oauth: config.oauth,
  workspaces: config.workspaces?.mode,
  files: config.workspaces && {
    store: openFileStore({ dir: config.workspaces.filesDir }),
    skills: openSkillStore(config.workspaces.filesDir),
    limits: config.workspaces.fileLimits,
  },
  toolSearch: config.HARNESS_TOOL_SEARCH,
  tenantsOf: config.tenantsOf,
  toolLock: config.toolLock,
  trustedProxies: config.HARNESS_TRUSTED_PROXIES,
  // The address that the gateway listens on and its public address are always allowed.
  allowedHosts: [
    config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST,
    ...(config.HARNESS_PUBLIC_URL ? [new URL(config.HARNESS_PUBLIC_URL).hostname] : []),
    ...config.HARNESS_ALLOWED_HOSTS,
  ],
  skillsDirectory: config.HARNESS_DISABLED_PLUGINS.includes(skillPluginName)
    ? undefined
    : config.HARNESS_SKILLS_DIR,
  skillCommands: config.HARNESS_SKILL_COMMANDS,
  skillsCode: config.HARNESS_SKILLS_CODE === '1',
  agentsDirectory: config.HARNESS_AGENTS_DIR,
  allowedOrigins: config.HARNESS_ALLOWED_ORIGINS,
  waitLimitMs: config.HARNESS_TURN_TIMEOUT_MS + 60_000,
});

/** Where audit records go besides Redis. Throws ConfigError when the file cannot be written. */
function auditOutputsOf(
  { HARNESS_AUDIT_FILE: file, HARNESS_AUDIT_STDOUT: stdout }: GatewayConfig,
  { output, logger }: { output: LineOutput; logger: Logger },
): LineOutput[] {
  const onTrouble = atMostOncePerSecond((error) =>
    logger.error({ err: error, file }, 'audit records are not written to the file'),
  );
  return [
    ...(stdout === '1' ? [output] : []),
    ...(file === undefined ? [] : [openLineFile(['HARNESS_AUDIT_FILE', file], onTrouble)]),
  ];
}

/** The plugins and their tools, for the parent process (`npm start`). */
const offeredBy = ({ plugins, tools }: PluginHost) =>
  plugins.map(({ name, version }) => ({
    name,
    version,
    tools: tools.filter(({ pluginName }) => pluginName === name).map((tool) => tool.name),
  }));

/** Longest wait for Redis at start, ms: this container may start before it. */
const redisWaitMs = 30_000;

/** Resolves when Redis takes writes. Throws ConfigError, with the reason, when it takes none within the time. */
async function untilWritable(
  dispatch: Dispatch,
  connections: ReturnType<typeof connectRedis>[],
): Promise<void> {
  const writes = dispatch.probeWrites();
  const over = new AbortController();
  const late = setTimeout(redisWaitMs, undefined, { signal: over.signal }).then(() => {
    const reason = writes.trouble()?.message ?? 'Redis does not answer.';
    throw new ConfigError(`REDIS_URL: no write succeeded within ${redisWaitMs / 1000} s. ${reason}`);
  });
  try {
    await Promise.race([Promise.all([writes.accepted, ...connections.map(untilReady)]), late]);
  } finally {
    over.abort();
    writes.close();
  }
}

const untilReady = (redis: ReturnType<typeof connectRedis>): Promise<void> =>
  redis.status === 'ready' ? Promise.resolve() : new Promise((resolve) => redis.once('ready', resolve));
