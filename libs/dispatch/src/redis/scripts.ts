import { randomUUID } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { jsonOf } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Acks } from '../fail-over/acks.ts';
import type { Keys } from './keys.ts';
import { linkScript } from './link-script.ts';
import { reached } from './reached.ts';

/** Bounds that the scripts keep. */
export interface Limits {
  /** Finished runs, results and idle threads expire after this. */
  retentionMs: number;
  /** How long an idempotency key is remembered. */
  idemTtlMs: number;
  /** Events kept per thread, approximately. */
  eventCap: number;
  /** Runs listed per thread; the latest. */
  runCap: number;
  /** Size of a thread's transcripts; beyond it the thread cannot move to another worker. */
  transcriptBytes: number;
  /** Waiting messages per thread. */
  maxMail: number;
  /** Crashes before a message is parked. */
  maxAttempts: number;
  /** Delegation: levels below the first thread, open tasks per thread, tasks from one user message. */
  maxDepth: number;
  maxChildren: number;
  maxChain: number;
  /** The bus: an assignment is acknowledged within this, */
  busAckMs: number;
  /** a worker that sends heartbeats sends the next within this, */
  busHeartbeatMs: number;
  /** and one that never does ends its task within this. */
  busSilentMs: number;
  /** Nobody swept for so long: the bus was away, and no lease ends for that. */
  busAwayMs: number;
  /** Assignments lost before a task is dead. */
  busMaxLosses: number;
  /** Tasks of a tenant that are not done, its workers, and its done tasks that are kept. */
  busMaxTasks: number;
  busMaxWorkers: number;
  busDoneCap: number;
  busEventCap: number;
}

const day = 86_400_000;
export const defaultLimits: Limits = {
  retentionMs: 7 * day,
  idemTtlMs: day,
  eventCap: 5_000,
  runCap: 1_000,
  transcriptBytes: 32 * 1024 * 1024,
  maxMail: 100,
  maxAttempts: 3,
  maxDepth: 3,
  maxChildren: 10,
  maxChain: 50,
  busAckMs: 30_000,
  busHeartbeatMs: 300_000,
  busSilentMs: 1_800_000,
  busAwayMs: 5_000,
  busMaxLosses: 3,
  busMaxTasks: 10_000,
  busMaxWorkers: 5_000,
  busDoneCap: 10_000,
  busEventCap: 50_000,
};

const names = [
  'append',
  'authority',
  'begin',
  'bus-ack',
  'bus-count',
  'bus-done',
  'bus-failed',
  'bus-heartbeat',
  'bus-leave',
  'bus-poll',
  'bus-register',
  'bus-reset',
  'bus-retry',
  'bus-status',
  'bus-submit',
  'bus-sweep',
  'call-task',
  'cancel-run',
  'cancel-task',
  'claim',
  'commit',
  'create-task',
  'create-thread',
  'data-version',
  'delete-thread',
  'emit',
  'hand-back',
  'ledger',
  'look',
  'narrow',
  'note',
  'note-server',
  'prewarm',
  'publish-profiles',
  'raise-epoch',
  'release',
  'repair-task',
  'session-state',
  'signal',
  'sweep',
  'transcript-append',
  'tree-events',
  'update-thread',
] as const;
export type ScriptName = (typeof names)[number];

/** Nobody is told that these happened, or it happens again by itself: they wait for no replica. */
const unconfirmed: ReadonlySet<ScriptName> = new Set([
  'authority',
  'begin',
  'bus-count',
  'bus-heartbeat',
  'bus-status',
  'bus-sweep',
  'claim',
  'data-version',
  'emit',
  'hand-back',
  'ledger',
  'look',
  'note-server',
  'prewarm',
  'publish-profiles',
  'raise-epoch',
  'release',
  'session-state',
  'signal',
  'sweep',
  'tree-events',
]);

export interface Scripts {
  /**
   * Runs one script of lua/. Safe to repeat: each recognises its own earlier effects.
   * Throws `unavailable` when Redis does not answer, or its replicas do not confirm: then it may or may not have
   * happened.
   */
  call<Answer>(name: ScriptName, args: object): Promise<Answer>;
}

/** A command becomes a method of the connection: the prefix keeps it from hiding one that exists (`emit`). */
const commandOf = (name: ScriptName) => `harness:${name}`;

const rooms = new URL('../', import.meta.url);
const files = globSync('**/*.lua', { cwd: rooms });
const source = (name: string) => {
  const file = files.find((path) => path.endsWith(`/${name}.lua`));
  return readFileSync(new URL(String(file), rooms), 'utf8');
};

/** What Redis runs for this script. */
export const scriptText = (name: ScriptName, limits: Limits): string =>
  linkScript(`${source('prelude')}\n${source('bus')}`, source(name), limits);

export function createScripts(deps: { redis: Redis; keys: Keys; limits: Limits; acks: Acks }): Scripts {
  const { redis, keys, limits, acks } = deps;
  for (const name of names)
    redis.defineCommand(commandOf(name), { numberOfKeys: 1, lua: scriptText(name, limits) });
  const commands = redis as unknown as Record<string, (key: string, args: string) => Promise<string>>;
  return {
    async call(name, args) {
      const argsText = jsonOf({ seed: randomUUID(), ...args });
      const run = () => reached(commands[commandOf(name)]?.call(redis, keys.prefix, argsText));
      const answer = await (unconfirmed.has(name) ? run() : acks.acknowledged(run));
      return JSON.parse(answer as string);
    },
  };
}

/** Lua's empty table reaches us as `{}`. */
export const listOf = <T>(value: T[] | Record<string, never> | undefined): T[] =>
  Array.isArray(value) ? value : [];
