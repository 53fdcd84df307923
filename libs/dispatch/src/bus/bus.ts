/**
 * The bus: tasks that external workers, on any machine, poll for, acknowledge and report on. Each tenant has
 * one. bus.lua draws its states and moves; every move is one script.
 *
 * This folder:
 *   bus.lua            states, invariants and the steps of moves (shared definitions)
 *   bus-queue.lua      the queue and the waiting workers (shared definitions)
 *   bus-delegated.lua  the work of delegated tasks on the bus (shared definitions)
 *   bus-contract.ts    the interface of the bus
 *   bus-move.ts        runs one move; refusals of scripts as errors
 *   bus-records.ts     hashes as resources
 *   bus-sweeper.ts     runs bus-sweep.lua periodically
 *   bus-submit.lua, bus-done.lua, bus-failed.lua, bus-retry.lua  moves of tasks
 *   workers/bus-workers.ts  workers: register, acknowledge, heartbeat, reset
 *   workers/bus-polls.ts    polls that wait at this gateway
 *   stats/                  counts of one bus and of all
 */
import {
  AppError,
  type BusTaskState,
  isDeeperThan,
  jsonOf,
  maxBusBytes,
  maxBusDepth,
} from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Replicas } from '../gateway/replicas.ts';
import type { Doorbell } from '../lease/doorbell.ts';
import { digestOf } from '../redis/digest.ts';
import type { Keys } from '../redis/keys.ts';
import type { Log } from '../redis/log.ts';
import { reached } from '../redis/reached.ts';
import { listOf, type Scripts, scriptsBeside } from '../redis/scripts.ts';
import type { Bus } from './bus-contract.ts';
import { type BusAnswer, createBusMoves, type Ring, taskNotFound } from './bus-move.ts';
import { busTaskDetailOf, busTaskOf, labelsTextOf, readHashes } from './bus-records.ts';
import { createBusStats } from './stats/bus-stats.ts';
import { createBusPolls } from './workers/bus-polls.ts';
import { createBusWorkers } from './workers/bus-workers.ts';

const lua = scriptsBeside(import.meta.url, {
  confirmed: ['bus-submit', 'bus-done', 'bus-failed', 'bus-retry'],
  unconfirmed: ['bus-sweep'],
});

/** Ids that the bus gives to the work of delegated tasks. */
const reserved = /^task_[0-9a-f]{32}\./;
const sweepCount = 200;
/** Tenants whose expired tasks one sweep deletes at most: it takes 1 ms however many there are. */
const tidyCount = 10;

/** Creates the bus. Polls that wait are kept in the memory of this process. */
export function createBus(deps: {
  redis: Redis;
  keys: Keys;
  scripts: Scripts;
  replicas: Replicas;
  doorbell: Doorbell;
  logger: Log;
}): Bus {
  const { redis, keys, scripts } = deps;
  const moves = createBusMoves(deps);
  const polls = createBusPolls(deps);
  const taskKey = (tenant: string, taskId: string) => keys.of('bt', `${tenant}:${taskId}`);

  return {
    ...createBusWorkers({ redis, keys, scripts, moves }),
    ...createBusStats({ redis, keys, scripts }),
    poll: polls.poll,
    async submit({ tenant, taskId, payload, priority = 0, requires = [] }) {
      if (reserved.test(taskId)) {
        throw new AppError(
          'invalid_request',
          `Ids like "${taskId}" are reserved for delegated tasks. Choose another id.`,
        );
      }
      const answer = await scripts.call<BusAnswer>(lua['bus-submit'], {
        tenant,
        taskId,
        payload: jsonTextOf(payload, 'payload'),
        priority,
        requires: labelsTextOf(requires),
      });
      if (answer.outcome === 'full') {
        throw new AppError(
          'bus_full',
          `The bus holds ${answer.limit} unfinished tasks, its maximum. Wait, or retry the blocked and dead ones.`,
        );
      }
      if (answer.outcome === 'too_many_sets') {
        throw new AppError(
          'bus_full',
          `The queued tasks require ${answer.limit} different sets of labels, the maximum. Require one of these sets, or wait until tasks have left the queue.`,
        );
      }
      return { state: answer.state as BusTaskState, existing: answer.outcome === 'existing' };
    },
    async done(hold, result) {
      const text = jsonTextOf(result, 'result');
      const words = typeof result === 'string' ? result : (text ?? '');
      const { existing } = await moves.move(lua['bus-done'], {
        ...hold,
        result: text,
        digest: digestOf(result),
        text: words.toWellFormed(),
      });
      return { existing: existing === true };
    },
    async failed(hold, reason) {
      const { existing, final } = await moves.move(lua['bus-failed'], {
        ...hold,
        reason: reason.toWellFormed(),
      });
      return { existing: existing === true, final: final === true };
    },
    async retry(tenant, taskId) {
      const { before } = await moves.move(lua['bus-retry'], { tenant, taskId });
      const state = await reached(redis.hget(taskKey(tenant, taskId), 'state'));
      return { before: before as BusTaskState, state: (state ?? 'queued') as BusTaskState };
    },
    async get(tenant, taskId) {
      const [hash] = await readHashes(redis, [taskKey(tenant, taskId)]);
      if (!hash) throw taskNotFound(taskId);
      return busTaskDetailOf(hash);
    },
    async tasks(tenant, { state, limit, offset }) {
      const list = state ? keys.of('bst', `${tenant}:${state}`) : keys.of('bts', tenant);
      const ids = await reached(redis.zrevrange(list, offset, offset + limit - 1));
      const hashes = await readHashes(
        redis,
        ids.map((id) => taskKey(tenant, id)),
      );
      return hashes.map(busTaskOf);
    },
    async sweep(expire = false) {
      let tidy = expire ? tidyCount : undefined;
      for (let more = true; more; tidy = undefined) {
        const args = { count: sweepCount, tidy };
        const found = await scripts.call<{ rung: Ring[]; more: boolean }>(lua['bus-sweep'], args);
        for (const one of listOf(found.rung)) moves.ring(one);
        more = found.more;
      }
    },
    endPolls: polls.end,
    close: polls.close,
  };
}

/** A value as JSON text; undefined stays undefined. Throws invalid_request and body_too_large. */
function jsonTextOf(value: unknown, what: string): string | undefined {
  if (isDeeperThan(maxBusDepth, value)) {
    throw new AppError(
      'invalid_request',
      `The ${what} is nested deeper than ${maxBusDepth} levels, the maximum. Send a flatter value.`,
    );
  }
  const text = jsonOf(value);
  if (text !== undefined && Buffer.byteLength(text) > maxBusBytes) {
    throw new AppError(
      'body_too_large',
      `The ${what} has more than ${maxBusBytes} bytes of JSON, the maximum. Send less, or a reference to it.`,
    );
  }
  return text;
}
