import { maxChangedPaths } from '@harness/contracts';

/** Bounds that the scripts enforce; scripts read them from the table `C`. */
export interface Limits {
  /** Finished runs, results and idle threads are deleted after this. */
  retentionMs: number;
  /** How long an idempotency key is remembered. */
  idemTtlMs: number;
  /** Events kept per thread, approximate. */
  eventCap: number;
  /** Latest runs listed per thread. */
  runCap: number;
  /** Total size of a thread's transcripts, bytes; beyond it the thread cannot move to another worker. */
  transcriptBytes: number;
  /** Waiting messages per thread. */
  maxMail: number;
  /** Attempts before a message is parked with an error; each attempt beyond the first follows a crash. */
  maxAttempts: number;
  /** Delegation: levels below the first thread. */
  maxDepth: number;
  /** Delegation: open tasks of one thread. */
  maxChildren: number;
  /** Delegation: tasks that one user message may lead to. */
  maxChain: number;
  /** Changed paths that a task, an event or a mail lists. */
  maxChangedPaths: number;
  /** Audit records kept in Redis, approximate: of the installation, and of one tenant. */
  auditCap: number;
  tenantAuditCap: number;
  /** API keys of one tenant that were made by the API. */
  maxKeys: number;
  /** Stream tickets of one key that are not used yet. */
  maxTickets: number;
  /** Sessions of the console of one key. */
  maxConsoleSessions: number;
  /** Longest life of a session of the console. */
  consoleSessionMs: number;
  /** The bus: time to acknowledge an assignment. */
  busAckMs: number;
  /** The bus: time from one heartbeat to the next, once a worker has sent one. */
  busHeartbeatMs: number;
  /** The bus: time to end an acknowledged task without any heartbeat. */
  busSilentMs: number;
  /**
   * The bus: after a pause of this length between sweeps (Redis or all gateways were down), no lease expires
   * at once.
   */
  busAwayMs: number;
  /** The bus: lost assignments after which a task is dead. */
  busMaxLosses: number;
  /** The bus: unfinished tasks of one tenant. */
  busMaxTasks: number;
  /** The bus: registered workers of one tenant. */
  busMaxWorkers: number;
  /** The bus: different sets of required labels of one tenant's queued tasks. */
  busMaxTaskSets: number;
  /** The bus: different sets of labels of one tenant's waiting workers. */
  busMaxWaitingSets: number;
  /** The bus: done tasks kept per tenant. */
  busDoneCap: number;
  /** The bus: events kept per tenant, approximate. */
  busEventCap: number;
}

const day = 86_400_000;
/** The limits of an installation that sets none. */
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
  maxChangedPaths,
  auditCap: 50_000,
  tenantAuditCap: 2_000,
  maxKeys: 100,
  maxTickets: 100,
  maxConsoleSessions: 100,
  consoleSessionMs: day / 2,
  busAckMs: 30_000,
  busHeartbeatMs: 300_000,
  busSilentMs: 1_800_000,
  busAwayMs: 5_000,
  busMaxLosses: 3,
  busMaxTasks: 10_000,
  busMaxWorkers: 5_000,
  busMaxTaskSets: 256,
  busMaxWaitingSets: 1_000,
  busDoneCap: 10_000,
  busEventCap: 50_000,
};
