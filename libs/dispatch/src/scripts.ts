import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { AppError, jsonOf } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Keys } from './keys.ts';

/** Bounds that the scripts keep. */
export interface Limits {
  /** Finished runs, results and idle threads expire after this. */
  retentionMs: number;
  /** How long an idempotency key is remembered. */
  idemTtlMs: number;
  /** Events kept per thread and per tree, approximately. */
  eventCap: number;
  treeCap: number;
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
  treeCap: 20_000,
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
  'delete-thread',
  'emit',
  'hand-back',
  'ledger',
  'look',
  'narrow',
  'note',
  'prewarm',
  'raise-epoch',
  'release',
  'repair-task',
  'session-state',
  'signal',
  'sweep',
  'transcript-append',
  'update-thread',
] as const;
type ScriptName = (typeof names)[number];

export interface Scripts {
  /**
   * Runs one script of lua/. Safe to repeat: each recognises its own earlier effects.
   * Throws `unavailable` when Redis does not answer: then it may or may not have happened.
   */
  call<Answer>(name: ScriptName, args: object): Promise<Answer>;
}

/** A command becomes a method of the connection: the prefix keeps it from hiding one that exists (`emit`). */
const commandOf = (name: ScriptName) => `harness:${name}`;

const source = (name: string) => readFileSync(new URL(`../lua/${name}.lua`, import.meta.url), 'utf8');

export function createScripts(redis: Redis, keys: Keys, limits: Limits): Scripts {
  const prelude = `${source('prelude')}\n${source('bus')}`;
  for (const name of names)
    redis.defineCommand(commandOf(name), { numberOfKeys: 1, lua: `${prelude}\n${source(name)}` });
  const commands = redis as unknown as Record<
    string,
    (key: string, args: string, limits: string) => Promise<string>
  >;
  const limitsText = JSON.stringify(limits);
  return {
    async call(name, args) {
      const answer = await reached(
        commands[commandOf(name)]?.call(
          redis,
          keys.prefix,
          jsonOf({ seed: randomUUID(), ...args }),
          limitsText,
        ),
      );
      return JSON.parse(answer as string);
    },
  };
}

/** What Redis says while it cannot do what is asked, though another time it could. */
const passing: Record<string, string> = {
  OOM: 'Redis is full and takes no writes',
  MISCONF: 'Redis cannot write to its disk and takes no writes',
  READONLY: 'Redis is a replica at this moment and takes no writes',
  NOREPLICAS: 'Redis has too few replicas and takes no writes',
  LOADING: 'Redis is reading its data',
  BUSY: 'Redis is busy with a script',
  MASTERDOWN: 'Redis has lost its primary',
  CLUSTERDOWN: 'Redis is not whole',
};

/**
 * Throws `unavailable` for a lost connection and for what passes, `internal` for any other refusal. Neither carries the
 * command, whose arguments are what people wrote.
 */
export async function reached<T>(reply: Promise<T> | undefined): Promise<T> {
  try {
    return (await reply) as T;
  } catch (thrown) {
    const cause = withoutCommand(thrown);
    const { what } = troubleOf(cause);
    if (what === undefined)
      throw new AppError('internal', `Redis refused a command: ${cause.message}`, { cause });
    const message = `${what}. The request may have been accepted: repeat it with the same Idempotency-Key.`;
    throw new AppError('unavailable', message, { cause });
  }
}

/**
 * Why a command failed: Redis's code (`OOM`), undefined where Redis did not answer; and what that means, undefined for a
 * refusal that repeating does not help.
 */
export function troubleOf({ name, message }: Error): { code?: string; what: string | undefined } {
  if (name !== 'ReplyError') return { what: 'Redis does not answer' };
  const [code = ''] = message.split(' ', 1);
  return { code, what: Object.hasOwn(passing, code) ? passing[code] : undefined };
}

function withoutCommand(thrown: unknown): Error {
  if (!(thrown instanceof Error)) return new Error(String(thrown));
  const { name, stack } = thrown;
  const message = thrown.message.replace(/, with args beginning with: .*/s, '');
  return Object.assign(new Error(message), { name, stack });
}

/** Lua's empty table reaches us as `{}`. */
export const listOf = <T>(value: T[] | Record<string, never> | undefined): T[] =>
  Array.isArray(value) ? value : [];
