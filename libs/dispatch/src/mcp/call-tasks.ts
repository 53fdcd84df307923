/**
 * Tool calls that run as tasks (the tasks extension of MCP): stored before the client gets their id, readable
 * at every gateway. A call runs at the gateway that accepted it. When it needs input from the client it ends,
 * and is made again from its beginning at the gateway that receives the last input. A call whose gateway died
 * is marked as failed at the next read.
 */

import { randomUUID } from 'node:crypto';
import { jsonOf } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Replicas } from '../gateway/replicas.ts';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { confirmed: ['call-task'] });

/** A tool call that runs as a task. */
export interface CallTask<Call = unknown> {
  taskId: string;
  status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
  /** Everything needed to make the call again. */
  call: Call;
  createdAtMs: number;
  updatedAtMs: number;
  /** How long the task is kept from its creation, ms. */
  ttlMs: number;
  result?: object;
  error?: { code: number; message: string; data?: unknown };
  /** Open requests for input from the client, by key. */
  inputRequests: Record<string, object>;
  /** The client's input so far, by key. */
  inputs: Record<string, Record<string, unknown>>;
  /** What the tool keeps between its calls. */
  state?: unknown;
}

/** A change of a task's status, with what belongs to it. */
export type CallTaskChange =
  | { status: 'input_required'; requests: Record<string, object>; state?: unknown }
  | { status: 'completed'; result: object }
  | { status: 'failed'; error: { code: number; message: string; data?: unknown } }
  | { status: 'cancelled' };

/**
 * Tool calls of all tenants that run as tasks. Every method throws `unavailable` when Redis does not answer.
 */
export interface CallTasks {
  create(tenant: string, call: object): Promise<CallTask>;
  /** Undefined for an unknown task and for one of another tenant. */
  get(tenant: string, taskId: string): Promise<CallTask | undefined>;
  /** Changes a task. Returns false when it has ended or is unknown. */
  move(tenant: string, taskId: string, change: CallTaskChange): Promise<boolean>;
  /**
   * Adds input from the client. `resumed`: that was the last missing input, and the caller must make the call
   * again. Repeat it under the same `answerId` when Redis did not answer, since it may have been the last
   * one.
   */
  answer(
    tenant: string,
    taskId: string,
    given: { answerId: string; inputs: Record<string, unknown> },
  ): Promise<'unknown' | 'noted' | 'resumed'>;
}

/** How long a task is kept from its creation, ms; longer than any tool may run. */
const ttlMs = 86_400_000;

const textsOf = (values: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, jsonOf(value)]));

/** `replicas` knows which gateways are alive. */
export function createCallTasks(deps: {
  redis: Redis;
  keys: Keys;
  scripts: Scripts;
  replicas: Replicas;
}): CallTasks {
  const { redis, keys, scripts, replicas } = deps;
  const run = (op: string, task: { tenant: string; taskId: string }, args: object) =>
    scripts.call<{ outcome: 'ok' | 'not_found' | 'ended'; resumed?: boolean }>(lua['call-task'], {
      op,
      ...task,
      replica: replicas.id,
      ...args,
    });
  const read = async (tenant: string, taskId: string) => {
    const hash = await reached(redis.hgetall(keys.of('ctask', taskId)));
    return hash.tenant === tenant ? { hash, task: callTaskOf(taskId, hash) } : undefined;
  };
  const move: CallTasks['move'] = async (tenant, taskId, change) => {
    const { status, ...rest } = change;
    const { requests = {}, ...fields } = rest as Record<string, unknown>;
    const changed = { fields: textsOf(fields), requests: textsOf(requests as Record<string, unknown>) };
    const { outcome } = await run('move', { tenant, taskId }, { status, ...changed });
    return outcome === 'ok';
  };

  return {
    move,
    async create(tenant, call) {
      const taskId = `call_${randomUUID().replaceAll('-', '')}`;
      const fields = { call: jsonOf(call), replica: replicas.id };
      await run('create', { tenant, taskId }, { fields, ttlMs });
      return (await read(tenant, taskId))?.task as CallTask;
    },
    async get(tenant, taskId) {
      const found = await read(tenant, taskId);
      if (found?.task.status !== 'working' || (await replicas.isAlive(found.hash.replica ?? '')))
        return found?.task;
      const message =
        'The gateway that ran this call ended; whether the call took effect is unknown. Check before you repeat it.';
      await move(tenant, taskId, { status: 'failed', error: { code: -32603, message } });
      return (await read(tenant, taskId))?.task;
    },
    async answer(tenant, taskId, { answerId, inputs }) {
      const given = { answerId, inputs: textsOf(inputs) };
      const { outcome, resumed } = await run('answer', { tenant, taskId }, given);
      if (outcome === 'not_found') return 'unknown';
      return resumed ? 'resumed' : 'noted';
    },
  };
}

function callTaskOf(taskId: string, hash: Record<string, string>): CallTask {
  const parsed = (name: string) => (hash[name] === undefined ? undefined : JSON.parse(hash[name]));
  const withPrefix = (prefix: string) =>
    Object.fromEntries(
      Object.entries(hash)
        .filter(([name]) => name.startsWith(prefix))
        .map(([name, text]) => [name.slice(prefix.length), JSON.parse(text)]),
    );
  const [result, error, state] = [parsed('result'), parsed('error'), parsed('state')];
  return {
    taskId,
    status: hash.status as CallTask['status'],
    call: parsed('call'),
    createdAtMs: Number(hash.createdAt),
    updatedAtMs: Number(hash.updatedAt),
    ttlMs: Number(hash.ttlMs),
    ...(result === undefined ? {} : { result }),
    ...(error === undefined ? {} : { error }),
    ...(state === undefined ? {} : { state }),
    inputRequests: withPrefix('req:'),
    inputs: withPrefix('in:'),
  };
}
