import type {
  BusAssignment,
  BusStats,
  BusTask,
  BusTaskDetail,
  BusTaskState,
  BusWorker,
  BusWorkerState,
} from '@harness/contracts';
import type { BusPoll } from './workers/bus-polls.ts';

/** A page of a list. */
export interface Page {
  limit: number;
  offset: number;
}

/**
 * The assignment that a call is about. The lease identifies it; without it the worker's name does; neither is
 * needed while the task was assigned only once.
 */
export interface BusHold {
  tenant: string;
  taskId: string;
  name?: string | undefined;
  lease?: string | undefined;
}

/**
 * The buses of all tenants. Errors: task_not_found, worker_not_found, wrong_state (`details.state`: the
 * current state), lease_lost (the task is no longer the caller's), lease_required, result_conflict, bus_full,
 * body_too_large, invalid_request, unavailable.
 */
export interface Bus {
  /** Submits a task, once per id. `existing`: it was submitted before, and nothing changes. */
  submit(task: NewBusTask): Promise<{ state: BusTaskState; existing: boolean }>;
  /** Registers a worker. Again: its labels change, and a lost worker becomes idle. */
  register(worker: { tenant: string; name: string; labels?: readonly string[] | undefined }): Promise<{
    state: BusWorkerState;
    labels: string[];
  }>;
  /** Waits for a task; null when the time is over. Causes no Redis commands while it waits. */
  poll(wish: BusPoll): Promise<BusAssignment | null>;
  /** Acknowledges an assignment. `deadline`: when the task is taken back without a heartbeat or an end. */
  ack(hold: BusHold & { name: string }): Promise<{ deadline: string }>;
  /** Extends the deadline of an acknowledged task. */
  heartbeat(hold: BusHold & { name: string; lease: string }): Promise<{ deadline: string }>;
  /**
   * Ends a task with its result. `existing`: the same result was accepted before. Throws `result_conflict`
   * for another one.
   */
  done(hold: BusHold, result: unknown): Promise<{ existing: boolean }>;
  /** Ends a task as blocked. `final`: it was work of a delegated task, which fails with it. */
  failed(hold: BusHold, reason: string): Promise<{ existing: boolean; final: boolean }>;
  /** Makes a worker idle; its task, if any, goes back into the queue. */
  reset(tenant: string, name: string): Promise<{ before: BusWorkerState; taskId: string | null }>;
  /** Puts a task that is in_progress, blocked or dead back into the queue. */
  retry(tenant: string, taskId: string): Promise<{ before: BusTaskState; state: BusTaskState }>;
  /** Counts of one tenant's bus. */
  stats(tenant: string): Promise<BusStats>;
  /** Counts of all buses together, for metrics. */
  totals(): Promise<BusTotals>;
  /** A task with its payload and result. */
  get(tenant: string, taskId: string): Promise<BusTaskDetail>;
  /** Tasks, latest first: by submission, or with `state` by when they entered it. */
  tasks(tenant: string, page: Page & { state?: BusTaskState | undefined }): Promise<BusTask[]>;
  /** Workers, most recently seen first. */
  workers(tenant: string, page: Page): Promise<BusWorker[]>;
  /** Takes back overdue assignments; `expire`: also deletes what has expired. */
  sweep(expire?: boolean): Promise<void>;
  /** Ends every poll that waits here with null: this gateway is shutting down. */
  endPolls(): void;
  close(): void;
}

/** Counts of the buses of all tenants together. */
export interface BusTotals {
  queued: number;
  assigned: number;
  inProgress: number;
  blocked: number;
  dead: number;
  workers: number;
  workersPolling: number;
}

/** A task to be submitted. */
export interface NewBusTask {
  tenant: string;
  taskId: string;
  payload?: unknown;
  /** Higher first, -1000 to 1000; default 0. */
  priority?: number | undefined;
  /** Labels that the worker must have; default none. */
  requires?: readonly string[] | undefined;
}
