/** The bus of external workers, as its tools use it: one for each tenant. */
import type { BusAssignment, BusStats, BusTaskState, BusWorker, BusWorkerState } from '@harness/contracts';

/** Whose call on which task; without the lease the name says it, and neither is needed while it was assigned once. */
export interface PluginBusHold {
  tenant: string;
  taskId: string;
  name?: string | undefined;
  lease?: string | undefined;
}

/**
 * Each throws what goes wrong as a code of the error table: task_not_found, worker_not_found, wrong_state, lease_lost,
 * lease_required, result_conflict, bus_full, body_too_large.
 */
export interface PluginBus {
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
  /** Null when the time is over; throws `turn_cancelled` when `signal` aborts. */
  poll(wish: {
    tenant: string;
    name: string;
    timeoutMs: number;
    signal?: AbortSignal | undefined;
  }): Promise<BusAssignment | null>;
  ack(hold: PluginBusHold & { name: string }): Promise<{ deadline: string }>;
  heartbeat(hold: PluginBusHold & { name: string; lease: string }): Promise<{ deadline: string }>;
  done(hold: PluginBusHold, result: unknown): Promise<{ existing: boolean }>;
  /** `final`: it was work of a delegated task, which fails with it. */
  failed(hold: PluginBusHold, reason: string): Promise<{ existing: boolean; final: boolean }>;
  reset(tenant: string, name: string): Promise<{ before: BusWorkerState; taskId: string | null }>;
  retry(tenant: string, taskId: string): Promise<{ before: BusTaskState; state: BusTaskState }>;
  stats(tenant: string): Promise<BusStats>;
  workers(tenant: string, page: { limit: number; offset: number }): Promise<BusWorker[]>;
}
