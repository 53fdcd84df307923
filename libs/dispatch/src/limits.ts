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
