import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkspaceMode } from '@harness/contracts';
import { createDispatch, type Dispatch, type Ending, type Liveness, startLiveness } from '@harness/dispatch';
import { definePlugin, type PluginDefinition, type ToolLocking } from '@harness/plugin-kit';
import { builtInPlugins, startPlugins } from '@harness/plugins';
import { connectRedis, createLogger, createScrubber, type Logger, type Scrubber } from '@harness/runtime';
import { openFileStore } from '@harness/workspaces';
import type { FastifyInstance } from 'fastify';
import { inject, onTestFinished } from 'vitest';
import { createApp } from '../src/app.ts';
import type { AuditOutput } from '../src/audit/audit.ts';
import type { FollowedFile } from '../src/follow-file.ts';
import { type ApiKey, apiKeyOf } from '../src/keys/api-keys.ts';
import type { KeyFile } from '../src/keys/key-file.ts';
import { createTenantLimits, type LimitsFile, noLimitsFile, quotasIn } from '../src/limits/tenant-limits.ts';
import type { OAuthSettings } from '../src/oauth/settings.ts';
import { createThreadInvoker } from '../src/threads/thread-invoker.ts';
import { callerScope } from '../src/tools/caller-scope.ts';
import type { UpstreamsFile } from '../src/upstreams/file/upstreams-file.ts';

const silent = createLogger('test', 'silent');
export const tokenSecret = 'a secret of at least sixteen characters';

export interface Gateway {
  url: string;
  app: FastifyInstance;
  dispatch: Dispatch;
  /** Every registered route. */
  routes: { method: string; url: string }[];
  /** fetch with a path, JSON in and out. */
  call(
    method: string,
    path: string,
    sent?: { body?: unknown; headers?: Record<string, string> },
  ): Promise<Answer>;
}

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers of every shape
  body: any;
}

export interface GatewayOptions {
  redisUrl?: string;
  /** Whether Redis may respond late; default: the shared one may. */
  isPatient?: boolean;
  tag?: string;
  keys?: ApiKey[];
  keyFile?: KeyFile;
  plugins?: readonly PluginDefinition[];
  oauth?: OAuthSettings | undefined;
  logger?: Logger;
  /** As in HARNESS_TOKEN_SECRET. Default: one that is the same in every test. */
  secrets?: string[];
  scrubber?: Scrubber;
  auditOutputs?: AuditOutput[];
  /** Default: 0, any free port. */
  port?: number;
  waitLimitMs?: number;
  skillsDirectory?: string;
  skillCommands?: 'marked' | 'all';
  skillsCode?: boolean;
  forkWaitMs?: number;
  agentsDirectory?: string;
  limitsFile?: LimitsFile;
  tenantsOf?: (plugin: string) => readonly string[] | undefined;
  failuresPerSecond?: number;
  trustedProxies?: string[];
  /** Upstreams, in the format of their file. */
  upstreams?: FollowedFile<UpstreamsFile> | UpstreamsFile;
  /** Their environment. Default: that of the test. */
  upstreamEnv?: Record<string, string>;
  unprefixed?: string[];
  maxChildren?: number;
  toolLock?: ToolLocking;
  folderChecking?: { everyMs: number; graceMs: number };
  consoleFolder?: string;
  /** Where files of threads are; null: threads have none. Default: a folder of its own, made with the first file. */
  filesDir?: string | null;
  /** Which threads have workspaces. Default: none. */
  workspaces?: WorkspaceMode;
  collecting?: { everyMs: number; graceMs: number };
}

/** A gateway as main.ts creates it, on the real Redis of this test run, listening on a free port. */
export async function openGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const { logger = silent, scrubber = createScrubber() } = options;
  const redisUrl = options.redisUrl ?? inject('redisUrl');
  const redis = connectRedis(redisUrl, { logger, patience: 'fail-fast' });
  const subscriber = connectRedis(redisUrl, { logger, patience: 'fail-fast' });
  // The shared Redis stays up, but may respond late on a busy machine.
  if (options.isPatient ?? options.redisUrl === undefined)
    for (const { options: patience } of [redis, subscriber])
      Object.assign(patience, { commandTimeout: 10_000, socketTimeout: 20_000 });
  const limits = createTenantLimits(() => options.limitsFile ?? noLimitsFile);
  const tag = options.tag ?? randomUUID();
  const workspacesOff = options.filesDir === null ? 'HARNESS_WORKSPACES is off.' : undefined;
  const dispatch = createDispatch({
    redis,
    subscriber,
    logger,
    tag,
    quotaOf: quotasIn(limits),
    workspacesOff,
  });
  await Promise.all([redis, subscriber].map((connection) => once(connection, 'ready')));
  await dispatch.replicas.join();
  const fixed = { current: tokenSecret, accepted: [tokenSecret], naming: tokenSecret };
  const tokenSecrets = options.secrets ? await dispatch.tokenSecrets(options.secrets) : fixed;
  const plugins = await startPlugins({
    dispatch,
    role: 'gateway',
    logger,
    scrubber,
    modulePaths: [],
    builtIn: options.plugins ?? builtInPlugins,
    namingSecret: tokenSecrets.naming,
    outerCall: () => callerScope.getStore()?.call,
    tenantNow: () => callerScope.getStore()?.tenant,
    tenantsOf: options.tenantsOf,
    toolLock: options.toolLock,
    unprefixed: options.unprefixed ?? [],
    invokerOf: (plugin) => createThreadInvoker({ dispatch, namingSecret: tokenSecrets.naming, plugin }),
  });
  const routes: Gateway['routes'] = [];
  const app = await createApp({
    dispatch,
    plugins,
    logger,
    scrubber,
    auditOutputs: options.auditOutputs,
    keys: options.keys ?? [],
    keyFile: options.keyFile,
    tokenSecrets,
    oauth: options.oauth,
    limits,
    tenantsOf: options.tenantsOf,
    failuresPerSecond: options.failuresPerSecond ?? 10_000,
    trustedProxies: options.trustedProxies,
    skillsDirectory: options.skillsDirectory,
    skillCommands: options.skillCommands,
    skillsCode: options.skillsCode,
    forkWaitMs: options.forkWaitMs,
    agentsDirectory: options.agentsDirectory,
    folderChecking: options.folderChecking,
    consoleFolder: options.consoleFolder,
    files: filesOf(options),
    workspaces: options.workspaces,
    toolLock: options.toolLock,
    upstreams: upstreamsOf(options),
    allowedHosts: ['gateway.test'],
    allowedOrigins: ['https://app.test'],
    waitLimitMs: options.waitLimitMs ?? 20_000,
    onRoute: ({ method, url }) => routes.push(...[method].flat().map((one) => ({ method: one, url }))),
  });
  const url = await app.listen({ port: options.port ?? 0, host: '127.0.0.1' });
  onTestFinished(async () => {
    await app.close();
    await plugins.close();
    await dispatch.close();
    redis.disconnect();
  });
  return { url, app, dispatch, routes, call: callerAt(url) };
}

const fileLimits = { bytes: 100_000_000, files: 10_000 };

function filesOf({ filesDir = join(tmpdir(), `harness-files-${randomUUID()}`), collecting }: GatewayOptions) {
  if (filesDir === null) return undefined;
  onTestFinished(() => rm(filesDir, { recursive: true, force: true }));
  return { store: openFileStore({ dir: filesDir }), limits: fileLimits, collecting };
}

const upstreamsOf = ({ upstreams, upstreamEnv, unprefixed = [], maxChildren }: GatewayOptions) =>
  upstreams && {
    file: 'current' in upstreams ? upstreams : { current: () => upstreams, onChange: () => undefined },
    env: upstreamEnv ?? process.env,
    unprefixed,
    maxChildren,
  };

const callerAt =
  (url: string): Gateway['call'] =>
  async (method, path, { body, headers = {} } = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json');
    return {
      status: response.status,
      headers: response.headers,
      body: isJson && text ? JSON.parse(text) : text,
    };
  };

export const keyFor = (key: string, overrides: Partial<ApiKey> = {}): ApiKey => ({
  ...apiKeyOf(key),
  id: key,
  ...overrides,
});
export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** A worker's side of the lease, played by the test: runs the thread's next turn and commits a given result. */
export async function openFakeWorker(dispatch: Dispatch, redis: ReturnType<typeof connectRedis>) {
  const workerId = `wrk_${randomUUID().replaceAll('-', '')}`;
  const liveness: Liveness = await startLiveness(
    { redis, keys: dispatch.keys, logger: silent },
    { workerId, ttlMs: 60_000, onUnhealthy: () => undefined },
  );
  onTestFinished(() => liveness.end());
  const begin = async (threadId: string) => {
    const claim = await dispatch.lease.claim(threadId, liveness.me());
    if (claim.outcome !== 'mine') throw new Error(claim.outcome);
    const begun = await dispatch.lease.begin(claim.hold, randomUUID());
    if (!('turn' in begun)) throw new Error(begun.outcome);
    return begun.turn;
  };
  return {
    workerId,
    begin,
    async finish(threadId: string, ending: Ending = { status: 'success', result: 'done' }) {
      const turn = await begin(threadId);
      await dispatch.lease.commit(turn, ending);
      return turn;
    },
  };
}

export function connectTestRedis(url = inject('redisUrl')) {
  const redis = connectRedis(url, { logger: silent, patience: 'wait' });
  onTestFinished(() => redis.disconnect());
  return redis;
}

/** A plugin whose tools return what they were given. */
export const probe = definePlugin({
  name: 'probe',
  version: '1.0.0',
  tools: [
    {
      name: 'whoami',
      description: 'Tells where the call comes from',
      schema: {},
      handler: (_ctx, input, { threadId, taskId, runId, toolUseId, principal }) =>
        JSON.stringify({ input, threadId, taskId, runId, toolUseId, tenant: principal.tenant }),
    },
    {
      name: 'strict',
      description: 'Takes a number and a nested list',
      schema: {
        type: 'object',
        properties: {
          n: { type: 'number' },
          list: {
            type: 'array',
            items: { type: 'object', properties: { kind: { enum: ['a', 'b'] } }, required: ['kind'] },
          },
        },
        required: ['n'],
        additionalProperties: false,
      },
      handler: () => 'ran',
    },
    {
      name: 'steps',
      description: 'Reports progress',
      schema: {},
      handler(_ctx, _input, meta) {
        meta.progress(1, 2, 'half');
        return 'finished';
      },
    },
    {
      name: 'broken',
      description: 'Fails',
      schema: {},
      handler() {
        throw new Error('the disk is full');
      },
    },
  ],
  register: () => ({}),
});
