import { randomBytes } from 'node:crypto';
import { AppError } from '@harness/contracts';
import type { Redis } from 'ioredis';
import { type Bus, createBus } from './bus/bus.ts';
import { createEventLog, type EventLog } from './events/event-log.ts';
import { createAcks, noAcks } from './fail-over/acks.ts';
import { createLosses } from './fail-over/losses.ts';
import { createRedisChanges } from './fail-over/redis-changes.ts';
import { watchServer } from './fail-over/redis-server.ts';
import { type AnswerLog, createAnswerLog } from './gateway/answer-log.ts';
import { type CallTasks, createCallTasks } from './gateway/call-tasks.ts';
import { createMcpSessions, type McpSessions } from './gateway/mcp-sessions.ts';
import { createPluginStates, type PluginStates } from './gateway/plugin-states.ts';
import { createPluginStore, type PluginStore } from './gateway/plugin-store.ts';
import { createProfiles, type Profiles } from './gateway/profiles.ts';
import { createReplicas, type Replicas } from './gateway/replicas.ts';
import { createDoorbell, type Doorbell } from './lease/doorbell.ts';
import { createLease, type Lease } from './lease/lease.ts';
import { askTogether } from './redis/ask-together.ts';
import { createFeed, type Feed } from './redis/feed.ts';
import { createKeys, type Keys } from './redis/keys.ts';
import type { Log } from './redis/log.ts';
import { reached } from './redis/reached.ts';
import { createScripts, defaultLimits, type Limits, type Scripts } from './redis/scripts.ts';
import { refusalOf, startWriteProbe, type WriteProbe, type WriteProbeOptions } from './redis/write-probe.ts';
import { createSessions, type Sessions } from './session/sessions.ts';
import { createTranscripts, type Transcripts } from './session/transcripts.ts';
import { createTasks, type Tasks } from './task/tasks.ts';
import { createRuns, type Runs } from './thread/runs.ts';
import { createThreads, type Threads } from './thread/threads.ts';
import { oldestWaitingMs } from './thread/waiting.ts';
import { createDataVersion, type DataVersion } from './version/data-version.ts';
import { createWorkers, type Workers } from './worker/workers.ts';

/** What a session's token says of its thread. */
interface TokenHold {
  threadId: string;
  epoch: number;
  /** workerId#incarnation; absent in tokens of releases before it was written into them. */
  owner?: string | undefined;
}

/**
 * Whether a thread token still speaks for its thread. `idle`: the epoch holds, but no run is under way. `tools`: what is
 * left of them for the rest of the run.
 */
export type Authority =
  | { outcome: 'ok'; runId: string; attempt: number; tools?: readonly string[] | undefined }
  | { outcome: 'idle' }
  | { outcome: 'stale' | 'gone' };

/** Calls to tools that must not run twice, by thread and tool-use id. */
export interface Ledger {
  /** `run`: the first time. `done`: it ended before, with this result. `uncertain`: it began, and nobody knows how it ended. */
  open(
    call: LedgerCall,
  ): Promise<{ outcome: 'run' | 'uncertain' | 'stale' } | { outcome: 'done'; result: string }>;
  close(call: LedgerCall, result: string): Promise<void>;
}
export interface LedgerCall {
  threadId: string;
  epoch: number;
  toolUseId: string;
}

/** What is counted of the whole fleet. Totals only rise; they are kept in Redis, so no worker takes any with it. */
export interface Counters {
  /** Accepted mail that a torn log lost. */
  gaps: number;
  /** System mail to deleted threads. */
  dropped: number;
  /** Processes that ended for what nobody caught. */
  escapes: number;
  /** Accepted messages that a fail-over of Redis took back. */
  lost: number;
  /** Times that Redis became another one, by a fail-over or a restart. */
  redisChanges: number;
  /** Threads with mail that is not done, now. */
  pending: number;
  /** Of the oldest message that waits for a worker, now; 0 without any. */
  oldestWaitingMs: number;
  /** Runs that have their result; path `none`: it came to no session. */
  runs: { status: string; path: string; count: number }[];
}

export interface Dispatch {
  keys: Keys;
  scripts: Scripts;
  dataVersion: DataVersion;
  threads: Threads;
  runs: Runs;
  tasks: Tasks;
  events: EventLog;
  lease: Lease;
  sessions: Sessions;
  transcripts: Transcripts;
  workers: Workers;
  doorbell: Doorbell;
  feed: Feed;
  replicas: Replicas;
  mcpSessions: McpSessions;
  answerLog: AnswerLog;
  callTasks: CallTasks;
  bus: Bus;
  pluginStates: PluginStates;
  profiles: Profiles;
  storeOf(plugin: string): PluginStore;
  /** `owner`: who signed the token, workerId#incarnation. */
  authorityOf(token: TokenHold): Promise<Authority>;
  /** From now to the end of the run its session has of its tools only these. Throws `stale_epoch` when it is over. */
  narrowTools(call: { runId: string; tools: readonly string[] }): Promise<void>;
  ledger: Ledger;
  /** The secret that signs thread tokens: the given one, else one made once and shared through Redis. */
  tokenSecret(given: string | undefined): Promise<string>;
  /** Says something to the plugins of every gateway: a signal. */
  broadcast(event: string, data: unknown): Promise<void>;
  counters(): Promise<Counters>;
  /** Redis has become another one, by a fail-over or a restart: what was written lately may be gone. */
  onRedisChange(listener: () => void): void;
  /** Something escaped in a process of the fleet, which ends for it: counted where it is not lost. */
  countEscape(): Promise<void>;
  /** Answers within the connection's patience, or throws `unavailable`, with Redis's code in `details.redis` if it refused. */
  ping(): Promise<void>;
  /** From now on, until it is closed, one tiny write a second shows whether Redis takes any. */
  probeWrites(options?: WriteProbeOptions): WriteProbe;
  close(): Promise<void>;
}

/**
 * `subscriber` is a connection of its own: Redis lets a subscribed one do nothing else. `acks`: replicas that must confirm
 * what callers and workers are told; 0 = none.
 */
export function createDispatch(deps: {
  redis: Redis;
  subscriber: Redis;
  logger: Log;
  tag?: string;
  limits?: Partial<Limits>;
  acks?: number;
}): Dispatch {
  const { redis, logger } = deps;
  const keys = createKeys(deps.tag);
  const writer = watchServer(redis, (server) => changes.seen(server));
  const acks = deps.acks ? createAcks({ redis, writer, keys, count: deps.acks }) : noAcks;
  const scripts = createScripts({ redis, keys, limits: { ...defaultLimits, ...deps.limits }, acks });
  const losses = createLosses({ redis, keys, logger });
  const changes = createRedisChanges({ scripts, losses, logger });
  const doorbell = createDoorbell({ redis, keys, logger });
  const feed = createFeed({ redis: deps.subscriber, logger });
  const parts = { redis, keys, scripts, doorbell, logger, feed };
  const threads = createThreads({ ...parts, losses });
  const tasks = createTasks(parts);
  const replicas = createReplicas(parts);
  const withReplicas = { ...parts, replicas };
  const bus = createBus(withReplicas);
  const dataVersion = createDataVersion(parts);
  const authorityOf = askTogether(async (tokens: TokenHold[]) => {
    const { each } = await scripts.call<{ each: (Authority & { tools?: string })[] }>('authority', {
      tokens,
    });
    return each.map(
      (one) => ({ ...one, ...(one.tools && { tools: JSON.parse(one.tools) as string[] }) }) as Authority,
    );
  });
  return {
    dataVersion,
    replicas,
    bus,
    mcpSessions: createMcpSessions(withReplicas),
    answerLog: createAnswerLog(withReplicas),
    callTasks: createCallTasks(withReplicas),
    pluginStates: createPluginStates(withReplicas),
    profiles: createProfiles(withReplicas),
    keys,
    scripts,
    doorbell,
    feed,
    tasks,
    threads,
    runs: createRuns({ ...parts, losses }),
    events: createEventLog(parts),
    lease: createLease(parts),
    sessions: createSessions(parts),
    transcripts: createTranscripts(parts),
    workers: createWorkers(parts),
    ledger: {
      open: (call) => scripts.call('ledger', call),
      close: async (call, result) => {
        await scripts.call('ledger', { ...call, result });
      },
    },
    storeOf: (plugin) => createPluginStore(parts, plugin),
    authorityOf,
    async narrowTools(call) {
      const { outcome } = await scripts.call<{ outcome: 'ok' | 'over' }>('narrow', call);
      if (outcome === 'over') throw new AppError('stale_epoch', 'The run is over.');
    },
    async tokenSecret(given) {
      if (given) return given;
      await reached(redis.set(keys.one('secret'), randomBytes(32).toString('base64url'), 'NX'));
      return (await reached(redis.get(keys.one('secret')))) as string;
    },
    async broadcast(event, data) {
      await replicas.broadcast({ kind: 'broadcast', event, data });
    },
    async counters() {
      const names = (['gaps', 'dropped', 'escapes', 'lost'] as const).map(keys.one);
      const [[gaps, dropped, escapes, lost], redisChanges, pending, waitingMs, runs] = await Promise.all([
        reached(redis.mget(names)),
        reached(redis.hget(keys.one('server'), 'changes')),
        reached(redis.zcard(keys.one('pend'))),
        oldestWaitingMs(parts),
        reached(redis.hgetall(keys.one('runs'))),
      ]);
      return {
        gaps: Number(gaps),
        dropped: Number(dropped),
        escapes: Number(escapes),
        lost: Number(lost),
        redisChanges: Number(redisChanges),
        pending,
        oldestWaitingMs: waitingMs,
        runs: Object.entries(runs).map(([kind, count]) => {
          const [status = '', path = ''] = kind.split(':');
          return { status, path, count: Number(count) };
        }),
      };
    },
    onRedisChange: changes.onChange,
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
      await replicas.close();
      await Promise.all([tasks.close(), doorbell.close(), feed.close()]);
      acks.close();
    },
  };
}
