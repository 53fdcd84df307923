/**
 * External workers: registration, acknowledgement, heartbeats, and their polls.
 *
 * This folder:
 *   bus-polls.ts      polls that wait, in the memory of one gateway
 *   bus-register.lua  script: registers a worker, or changes its labels
 *   bus-poll.lua      script: gives a polling worker a task, or lets it wait
 *   bus-leave.lua     script: ends a poll that has received no task
 *   bus-ack.lua       script: the task of an assignment is in progress
 *   bus-heartbeat.lua script: extends the deadline of a task in progress
 *   bus-reset.lua     script: makes a worker idle; its task goes back
 */
import { AppError, type BusWorkerState } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Keys } from '../../redis/keys.ts';
import { reached } from '../../redis/reached.ts';
import { type Scripts, scriptsBeside } from '../../redis/scripts.ts';
import type { Bus } from '../bus-contract.ts';
import type { BusAnswer, BusMoves } from '../bus-move.ts';
import { busWorkerOf, labelsOf, labelsTextOf, readHashes } from '../bus-records.ts';
import { tooManyWaitingSets } from './bus-polls.ts';

const lua = scriptsBeside(import.meta.url, {
  confirmed: ['bus-register', 'bus-reset', 'bus-ack'],
  unconfirmed: ['bus-heartbeat'],
});

const deadlineIn = ({ deadline }: BusAnswer) => ({ deadline: new Date(deadline ?? 0).toISOString() });

/** Creates what the bus does for workers, except their polls (bus-polls.ts). */
export function createBusWorkers(deps: {
  redis: Redis;
  keys: Keys;
  scripts: Scripts;
  moves: BusMoves;
}): Pick<Bus, 'register' | 'ack' | 'heartbeat' | 'reset' | 'workers'> {
  const { redis, keys, scripts, moves } = deps;
  return {
    async register({ tenant, name, labels = [] }) {
      const text = labelsTextOf(labels);
      const answer = await scripts.call<BusAnswer>(lua['bus-register'], { tenant, name, labels: text });
      if (answer.outcome === 'full') {
        throw new AppError('bus_full', `The bus has ${answer.limit} workers, its maximum; try again later.`);
      }
      if (answer.outcome === 'too_many_sets') throw tooManyWaitingSets(answer.limit);
      return { state: answer.state as BusWorkerState, labels: labelsOf(text) };
    },
    ack: async (hold) => deadlineIn(await moves.move(lua['bus-ack'], hold)),
    heartbeat: async (hold) => deadlineIn(await moves.move(lua['bus-heartbeat'], hold)),
    async reset(tenant, name) {
      const answer = await scripts.call<BusAnswer>(lua['bus-reset'], { tenant, name });
      if (answer.outcome !== 'ok')
        throw new AppError(
          'worker_not_found',
          `There is no worker "${name}". Check the name: get_status lists the workers.`,
        );
      return { before: answer.before as BusWorkerState, taskId: answer.taskId ?? null };
    },
    async workers(tenant, { limit, offset }) {
      const names = await reached(redis.zrevrange(keys.of('bws', tenant), offset, offset + limit - 1));
      const hashes = await readHashes(
        redis,
        names.map((name) => keys.of('bw', `${tenant}:${name}`)),
      );
      return hashes.map(busWorkerOf);
    },
  };
}
