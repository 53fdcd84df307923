import type { Redis } from 'ioredis';
import { type AuditLog, createAuditLog } from './access/audit-log.ts';
import { type ConsoleSessions, createConsoleSessions } from './access/console-sessions.ts';
import { createIssuedKeys, type IssuedKeys } from './access/issued-keys.ts';
import { createKeyRights, type KeyRights } from './access/key-rights.ts';
import { createTickets, type Tickets } from './access/tickets.ts';
import { createTokenSecrets, type ReadTokenSecrets } from './access/token-secrets.ts';
import { createBus } from './bus/bus.ts';
import type { Bus } from './bus/bus-contract.ts';
import { createEventLog, type EventLog } from './events/event-log.ts';
import { createAcks, noAcks } from './fail-over/acks.ts';
import { createLosses } from './fail-over/losses.ts';
import { createRedisChanges } from './fail-over/redis-changes.ts';
import { watchServer } from './fail-over/redis-server.ts';
import { createFairShare, type FairShare } from './fair/fair-share.ts';
import { type Counters, countersOf } from './figures/counters.ts';
import { createFigures, type Figures } from './figures/figures.ts';
import { checkOrder, type OrderCheck } from './figures/promises.ts';
import { createFiles, type Files } from './files/files.ts';
import { workspaceRefusal } from './files/workspace-refusal.ts';
import { createListedTools, type ListedTools } from './gateway/listed-tools.ts';
import { createPluginStates, type PluginStates } from './gateway/plugin-states.ts';
import { createPluginStore, type PluginStore, type StoreOwner } from './gateway/plugin-store.ts';
import { createProfiles, type Profiles } from './gateway/profiles.ts';
import { createReplicas, type Replicas } from './gateway/replicas.ts';
import { createToolAuthority, type ToolAuthority } from './gateway/tool-authority.ts';
import { createDoorbell, type Doorbell } from './lease/doorbell.ts';
import { createLease, type Lease } from './lease/lease.ts';
import { defaultLimits, type Limits } from './limits.ts';
import { type CallTasks, createCallTasks } from './mcp/call-tasks.ts';
import { createMcpSessions, type McpSessions } from './mcp/mcp-sessions.ts';
import { createStreamLog, type StreamLog } from './mcp/stream-log.ts';
import { type QuotaOf, quotaInScript } from './quota/quota.ts';
import { createRequestBudget, type RequestBudget } from './quota/request-budget.ts';
import { createFeed, type Feed } from './redis/feed.ts';
import { createKeys, type Keys } from './redis/keys.ts';
import type { Log } from './redis/log.ts';
import { reached } from './redis/reached.ts';
import { createScripts, type Scripts } from './redis/scripts.ts';
import { refusalOf, startWriteProbe, type WriteProbe, type WriteProbeOptions } from './redis/write-probe.ts';
import { createQuestions, type Questions } from './session/questions.ts';
import { createSessions, type Sessions } from './session/sessions.ts';
import { createTranscripts, type Transcripts } from './session/transcripts.ts';
import { createTasks, type Tasks } from './task/tasks.ts';
import { createRuns, type Runs } from './thread/runs.ts';
import { createThreads, type Threads } from './thread/threads.ts';
import { createGatewayCalls, type GatewayCalls } from './upstream/gateway-calls.ts';
import { createUpstreamOwners, type UpstreamOwners } from './upstream/upstream-owners.ts';
import { createDataVersion, type DataVersion } from './version/data-version.ts';
import { createWorkers, type Workers } from './worker/workers.ts';

/** Everything that gateways and workers share through Redis, by room. */
export interface Dispatch extends ToolAuthority {
  keys: Keys;
  scripts: Scripts;
  dataVersion: DataVersion;
  threads: Threads;
  runs: Runs;
  tasks: Tasks;
  files: Files;
  events: EventLog;
  lease: Lease;
  sessions: Sessions;
  questions: Questions;
  transcripts: Transcripts;
  workers: Workers;
  doorbell: Doorbell;
  fair: FairShare;
  feed: Feed;
  replicas: Replicas;
  requestBudget: RequestBudget;
  keyRights: KeyRights;
  mcpSessions: McpSessions;
  streamLog: StreamLog;
  callTasks: CallTasks;
  bus: Bus;
  pluginStates: PluginStates;
  listedTools: ListedTools;
  gatewayCalls: GatewayCalls;
  upstreamOwners: UpstreamOwners;
  audit: AuditLog;
  issuedKeys: IssuedKeys;
  tokenSecrets: ReadTokenSecrets;
  tickets: Tickets;
  consoleSessions: ConsoleSessions;
  profiles: Profiles;
  /** The key-value store of a plugin for one tenant, or for all. */
  storeOf(owner: StoreOwner): PluginStore;
  /** Sends an event to the plugins of every gateway, as a signal. Throws `unavailable`. */
  broadcast(event: string, data: unknown): Promise<void>;
  figures: Figures;
  /** Reads the latest threads of a tenant back and checks their order. Throws `unavailable`. */
  checkOrder(tenant: string): Promise<OrderCheck>;
  /** Reads the counters of the fleet. Throws `unavailable`. */
  counters(): Promise<Counters>;
  /** Adds a listener for the takeover of another Redis, by a fail-over or a restart: recent writes may be lost. */
  onRedisChange(listener: () => void): void;
  /** Adds a listener that is called for each write that the replicas of Redis did not confirm in time. */
  onAckMissing(listener: () => void): void;
  /**
   * Counts a process that ends because of an uncaught error. Throws `unavailable`: then it is not counted.
   */
  countEscape(): Promise<void>;
  /**
   * Resolves when Redis answers within the connection's time limit. Throws `unavailable` otherwise;
   * `details.redis` is the error code of Redis if it refused.
   */
  ping(): Promise<void>;
  /** Tests with one tiny write a second whether Redis takes writes, until the probe is closed. */
  probeWrites(options?: WriteProbeOptions): WriteProbe;
  close(): Promise<void>;
}

/**
 * Creates all rooms on one Redis. `subscriber`: a separate connection, since Redis lets a subscribed
 * connection do nothing else. `tag`: the hash tag of all keys. `acks`: number of replicas that must confirm a
 * write before callers and workers are notified of it; 0 = none. `quotaOf`: what tenants and keys may hold; absent = no
 * limits. `workspacesOff`: why threads here can have no workspace, for the refusal of requests that ask for one. `traceNow`:
 * the traceparent of the current span, so that other processes continue its trace.
 */
export function createDispatch(deps: {
  redis: Redis;
  subscriber: Redis;
  logger: Log;
  tag?: string;
  limits?: Partial<Limits>;
  acks?: number;
  quotaOf?: QuotaOf | undefined;
  workspacesOff?: string | undefined;
  traceNow?: () => string | undefined;
}): Dispatch {
  const { redis, logger } = deps;
  const keys = createKeys(deps.tag);
  const writer = watchServer(redis, (server) => changes.seen(server));
  const acks = deps.acks ? createAcks({ redis, writer, keys, count: deps.acks, logger }) : noAcks;
  const limits = { ...defaultLimits, ...deps.limits };
  const scripts = createScripts({ redis, keys, limits, acks });
  const losses = createLosses({ redis, keys, logger });
  const changes = createRedisChanges({ scripts, losses, logger });
  const fair = createFairShare({ scripts });
  const doorbell = createDoorbell({ redis, keys, fair, logger });
  const feed = createFeed({ redis: deps.subscriber, logger });
  const quotaOf = quotaInScript(deps.quotaOf);
  const { traceNow = () => undefined, workspacesOff } = deps;
  const workers = createWorkers({ redis, keys });
  const refuseWorkspace = workspaceRefusal(workspacesOff, workers);
  const parts = { redis, keys, scripts, doorbell, logger, feed, quotaOf, refuseWorkspace, traceNow };
  const threads = createThreads({ ...parts, losses });
  const tasks = createTasks(parts);
  const replicas = createReplicas(parts);
  const withReplicas = { ...parts, replicas };
  const bus = createBus(withReplicas);
  const dataVersion = createDataVersion(parts);
  const gatewayCalls = createGatewayCalls(withReplicas);
  return {
    ...createToolAuthority(parts),
    dataVersion,
    replicas,
    requestBudget: createRequestBudget(parts),
    keyRights: createKeyRights(parts),
    bus,
    mcpSessions: createMcpSessions(withReplicas),
    streamLog: createStreamLog(withReplicas),
    callTasks: createCallTasks(withReplicas),
    pluginStates: createPluginStates(withReplicas),
    gatewayCalls,
    listedTools: createListedTools(parts),
    upstreamOwners: createUpstreamOwners({ scripts, replica: replicas.id }),
    profiles: createProfiles(withReplicas),
    audit: createAuditLog(parts),
    questions: createQuestions(parts),
    files: createFiles(parts),
    figures: createFigures(parts),
    checkOrder: (tenant) => checkOrder({ redis, keys, scripts }, tenant),
    issuedKeys: createIssuedKeys(parts),
    tokenSecrets: createTokenSecrets(parts),
    tickets: createTickets(parts),
    consoleSessions: createConsoleSessions({ ...parts, limits }),
    keys,
    scripts,
    doorbell,
    fair,
    feed,
    tasks,
    threads,
    runs: createRuns({ ...parts, losses }),
    events: createEventLog(parts),
    lease: createLease(parts),
    sessions: createSessions(parts),
    transcripts: createTranscripts(parts),
    workers,
    storeOf: (owner) => createPluginStore(parts, owner),
    async broadcast(event, data) {
      await replicas.broadcast({ kind: 'broadcast', event, data });
    },
    counters: () => countersOf(parts),
    onRedisChange: changes.onChange,
    onAckMissing: acks.onMissing,
    async countEscape() {
      await reached(redis.incr(keys.one('escapes')));
    },
    async ping() {
      await redis.ping().catch((error: Error) => {
        throw refusalOf(error);
      });
    },
    probeWrites: (options) => startWriteProbe(parts, options),
    async close() {
      bus.close();
      dataVersion.close();
      gatewayCalls.close();
      await replicas.close();
      await Promise.all([tasks.close(), doorbell.close(), feed.close()]);
      acks.close();
    },
  };
}
