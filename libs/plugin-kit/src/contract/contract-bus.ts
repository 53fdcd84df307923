/** The bus of external workers, as the bus tools use it. Each tenant has its own bus. */
import type { BusAssignment, BusStats, BusTaskState, BusWorker, BusWorkerState } from '@harness/contracts';

/**
 * Identifies the caller's assignment of a bus task. `lease` names the assignment itself; without it, `name` identifies
 * the worker. Neither is needed while the task has been assigned only once.
 *
 * @example
 * ```ts
 * const hold: PluginBusHold = { tenant: meta.principal.tenant, taskId: 'build-17', name: 'builder' };
 * const { existing } = await ctx.bus.done(hold, { passed: true });
 * ```
 */
export interface PluginBusHold {
  tenant: string;
  taskId: string;
  name?: string | undefined;
  lease?: string | undefined;
}

/**
 * The operations of the bus. Each rejects with an `AppError` whose code is one of `invalid_request`, `task_not_found`,
 * `worker_not_found`, `wrong_state`, `lease_lost`, `lease_required`, `result_conflict`, `bus_full`, `body_too_large`.
 *
 * @example
 * ```ts
 * await ctx.bus.submit({ tenant: meta.principal.tenant, taskId: 'build-17', payload: { commit: 'abc' } });
 * ```
 */
export interface PluginBus {
  /** Puts a task into the queue. `existing`: a task with this id was submitted before, and nothing has changed. */
  submit(task: {
    tenant: string;
    taskId: string;
    payload?: unknown;
    priority?: number | undefined;
    requires?: readonly string[] | undefined;
  }): Promise<{ state: BusTaskState; existing: boolean }>;
  register(worker: { tenant: string; name: string; labels?: readonly string[] | undefined }): Promise<{
    state: BusWorkerState;
    labels: string[];
  }>;
  /**
   * Waits up to `timeoutMs` for a task. Returns null when there was none; throws `turn_cancelled` when `signal` aborts.
   */
  poll(wish: {
    tenant: string;
    name: string;
    timeoutMs: number;
    signal?: AbortSignal | undefined;
  }): Promise<BusAssignment | null>;
  /** Acknowledges an assignment. Returns the time (ISO 8601) until which the worker must end it or send a heartbeat. */
  ack(hold: PluginBusHold & { name: string }): Promise<{ deadline: string }>;
  heartbeat(hold: PluginBusHold & { name: string; lease: string }): Promise<{ deadline: string }>;
  /** Reports the result of a task. `existing`: the same result was accepted before. */
  done(hold: PluginBusHold, result: unknown): Promise<{ existing: boolean }>;
  /** Reports a failure. `final`: the bus task was the work of a delegated task, which has failed with it. */
  failed(hold: PluginBusHold, reason: string): Promise<{ existing: boolean; final: boolean }>;
  /** Makes a worker idle and puts its task, if any, back into the queue. */
  reset(tenant: string, name: string): Promise<{ before: BusWorkerState; taskId: string | null }>;
  /** Puts a blocked or dead task back into the queue. */
  retry(tenant: string, taskId: string): Promise<{ before: BusTaskState; state: BusTaskState }>;
  stats(tenant: string): Promise<BusStats>;
  workers(tenant: string, page: { limit: number; offset: number }): Promise<BusWorker[]>;
}
