import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { BusStats, BusTaskDetail, ThreadEvent } from '@harness/contracts';
import { type Child, startChild } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { type BusTaskSent, checkBus } from './checker/bus-checker.ts';
import type { Reported } from './external-workers.ts';
import { type FaultFleet, openFaultFleet } from './fault-fleet.ts';
import { killGateway, restartRedis } from './faults.ts';
import { seedOf } from './random.ts';
import { until } from './until.ts';

const processes = 5;
const workersEach = 10;
const taskCount = 2_000;
/** Short enough that leases expire during the test. */
const leaseMs = 1_500;
/** More tasks than the workers can finish before the first fault. */
const ahead = 800;

const main = fileURLToPath(new URL('./external-workers.ts', import.meta.url));

/** Processes of external workers, the first half of each with a label. */
function openCrowd(fleet: FaultFleet) {
  const crowd: Child<unknown>[] = [];
  const reports: Reported[] = [];
  const gateways = () => ({ gateways: fleet.gatewayUrls() });
  const start = async (place: number, generation: number) => {
    const names = Array.from({ length: workersEach }, (_, n) => {
      // Some are restarted under their name, others are not.
      const born = n % 2 === 0 ? 0 : generation;
      return `${n < workersEach / 2 ? 'gpu' : 'cpu'}-${place}-${n}-${born}`;
    });
    const child = await startChild<unknown>({
      name: `external workers ${place}`,
      main,
      env: { PATH: process.env.PATH ?? '', FAULTS_WORKERS: names.join(',') },
    });
    child.process.on('message', (message: { reported?: Reported }) => {
      if (message.reported) reports.push(message.reported);
    });
    child.process.send(gateways());
    crowd[place] = child;
  };
  onTestFinished(async () => {
    for (const { process: child } of crowd) child.kill('SIGKILL');
    await Promise.all(crowd.map(({ exited }) => exited));
  });
  return {
    reports,
    start,
    async kill(place: number, generation: number) {
      const child = crowd[place] as Child<unknown>;
      child.process.kill('SIGKILL');
      await child.exited;
      await start(place, generation);
    },
    /** It continues without noticing that it was stopped. */
    async pause(place: number, ms: number) {
      const { process: child } = crowd[place] as Child<unknown>;
      child.kill('SIGSTOP');
      await after(ms);
      child.kill('SIGCONT');
    },
    sendGateways() {
      for (const { process: child } of crowd) if (child.connected) child.send(gateways());
    },
  };
}

async function submitAll(fleet: FaultFleet, tasks: readonly BusTaskSent[]): Promise<void> {
  const rest = [...tasks];
  const submitter = async () => {
    for (let task = rest.shift(); task; task = rest.shift())
      await fleet.client.call('POST', '/v1/bus/tasks', { body: task });
  };
  await Promise.all(Array.from({ length: 8 }, submitter));
}

async function eventsOf(fleet: FaultFleet): Promise<ThreadEvent[]> {
  const found: ThreadEvent[] = [];
  for (;;) {
    const path = `/v1/bus/events?after=${found.at(-1)?.id ?? '0'}`;
    const { events } = await fleet.client.call<{ events: ThreadEvent[] }>('GET', path);
    if (events.length === 0) return found;
    found.push(...events);
  }
}

test('50 external workers, 2,000 tasks, two gateways: each task ends once, under kills, pauses and restarts', async () => {
  const seed = seedOf();
  console.log(`FAULT_SEED=${seed}`);
  const fleet = await openFaultFleet({
    seed,
    workers: 0,
    gateways: 2,
    env: {
      HARNESS_BUS_ACK_MS: String(leaseMs),
      HARNESS_BUS_SILENCE_MS: String(leaseMs),
      HARNESS_BUS_MAX_LOSSES: '5',
    },
  });
  onTestFinished(fleet.close);
  const { random, client } = fleet;
  const tasks = Array.from({ length: taskCount }, (_, n) => ({
    taskId: `task-${n}`,
    priority: random.upTo(5),
    requires: random.upTo(4) === 0 ? ['gpu'] : [],
    payload: { n },
  }));
  const stats = () => client.call<BusStats>('GET', '/v1/bus/status');
  const doneAtLeast = (count: number) =>
    until(`${count} tasks are done`, async () => (await stats()).done >= count, 60_000);

  const submitting = submitAll(fleet, tasks);
  await until('there is work ahead', async () => (await stats()).depth >= ahead, 60_000);
  const crowd = openCrowd(fleet);
  await Promise.all(Array.from({ length: processes }, (_, place) => crowd.start(place, 0)));

  await doneAtLeast(100);
  await crowd.kill(0, 1);
  const pausing = crowd.pause(1, 2.5 * leaseMs);
  await doneAtLeast(300);
  await killGateway(fleet);
  crowd.sendGateways();
  await pausing;
  await doneAtLeast(500);
  await restartRedis(fleet, 500);
  await doneAtLeast(700);
  const pausingAgain = Promise.all([crowd.pause(2, 2.5 * leaseMs), crowd.kill(3, 1)]);
  await doneAtLeast(900);
  await killGateway(fleet);
  crowd.sendGateways();
  await pausingAgain;
  await submitting;
  await until(
    'every task is done',
    async () => {
      const { done, dead } = await stats();
      if (dead > 0) {
        const { tasks: letters } = await client.call<{ tasks: { taskId: string }[] }>(
          'GET',
          '/v1/bus/tasks?state=dead',
        );
        for (const { taskId } of letters)
          await client.call('POST', `/v1/bus/tasks/${taskId}/retry`).catch(() => undefined);
      }
      return done === taskCount;
    },
    90_000,
  );

  const events = await eventsOf(fleet);
  expect(checkBus(events, tasks)).toEqual([]);
  expect(await stats()).toMatchObject({
    depth: 0,
    assigned: 0,
    inProgress: 0,
    dead: 0,
    blocked: 0,
    done: taskCount,
  });

  // Of all reports, exactly the one with the valid lease was accepted; late ones were refused with an error.
  const accepted = crowd.reports.filter(({ status }) => status === 200);
  const refused = crowd.reports.filter(({ status }) => status !== 200);
  const leases = new Map<string, Set<string>>();
  for (const { taskId, lease } of accepted) leases.set(taskId, (leases.get(taskId) ?? new Set()).add(lease));
  expect([...leases].filter(([, one]) => one.size > 1)).toEqual([]);
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([412]));
  for (const { taskId, lease } of refused.slice(0, 20)) {
    const { result } = await client.call<BusTaskDetail>('GET', `/v1/bus/tasks/${taskId}`);
    expect((result as { lease: string }).lease).not.toBe(lease);
  }
  const count = (type: string) => events.filter((event) => event.type === type).length;
  console.log(
    JSON.stringify({
      assigned: count('bus.task_assigned'),
      lost: count('bus.worker_lost'),
      refused: refused.length,
      events: events.length,
    }),
  );
});
