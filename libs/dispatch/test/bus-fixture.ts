import { randomUUID } from 'node:crypto';
import { AppError, type BusAssignment } from '@harness/contracts';
import { inject } from 'vitest';
import type { Limits } from '../src/index.ts';
import { openBench } from './fixture.ts';

/** The tenant of all tests here. */
export const tenant = 'acme';

/** Opens the gateways of one installation, and returns shortcuts for workers that poll at them. */
export async function openBus(limits: Partial<Limits> = {}, gateways = 1, url = inject('redisUrl')) {
  const tag = randomUUID();
  const benches = await Promise.all(Array.from({ length: gateways }, () => openBench(limits, { tag, url })));
  await Promise.all(benches.map(({ dispatch }) => dispatch.replicas.join()));
  const { dispatch, redis } = benches[0] as (typeof benches)[0];
  const { bus } = dispatch;
  const buses = benches.map((bench) => bench.dispatch.bus);

  const states = async () =>
    Object.fromEntries(
      (await bus.tasks(tenant, { limit: 100, offset: 0 })).map((task) => [task.taskId, task.state]),
    );
  const stateOfWorker = async (name: string) =>
    (await bus.workers(tenant, { limit: 100, offset: 0 })).find((worker) => worker.name === name)?.state;
  /** Polls once without waiting; fails the test if there is no task. */
  const take = async (name: string): Promise<BusAssignment> => {
    const task = await bus.poll({ tenant, name, timeoutMs: 0 });
    if (!task) throw new Error('there was no task');
    return task;
  };
  return {
    dispatch,
    redis,
    bus,
    buses,
    benches,
    states,
    stateOfWorker,
    register: (name: string, labels: string[] = []) => bus.register({ tenant, name, labels }),
    submit: (taskId: string, more: { priority?: number; requires?: string[]; payload?: unknown } = {}) =>
      bus.submit({ tenant, taskId, ...more }),
    take,
    async takeAndAck(name: string): Promise<BusAssignment> {
      const task = await take(name);
      await bus.ack({ tenant, name, taskId: task.taskId, lease: task.lease });
      return task;
    },
    /** Resolves when all these workers wait, in Redis. */
    async waiting(...names: string[]): Promise<void> {
      for (;;) {
        const found = await Promise.all(names.map(stateOfWorker));
        if (found.every((state) => state === 'polling')) return;
      }
    },
  };
}

/** The code of the error, and the state that it names. */
export async function refusalOf(promise: Promise<unknown>) {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AppError)) return error;
  const { state } = (error.details ?? {}) as { state?: string };
  return state === undefined ? error.code : `${error.code}: ${state}`;
}
