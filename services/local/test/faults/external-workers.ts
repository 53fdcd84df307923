/**
 * A process with some external workers, for the test of the bus: it registers them, and they poll, acknowledge, work and
 * report over REST until the process is killed. `FAULTS_WORKERS` names them; its parent sends the gateways' addresses.
 */
import { setTimeout as after } from 'node:timers/promises';
import type { BusAssignment } from '@harness/contracts';

/** What the parent gets for each report that had a response. */
export interface Reported {
  name: string;
  taskId: string;
  lease: string;
  status: number;
  existing: boolean;
}

interface Answer<T> {
  status: number;
  body: T & { existing?: boolean };
}

const pollMs = 2_000;
/** A call without a response for this time is sent again, ms. */
const callLimitMs = 10_000;
const retryMs = 100;
const mostWorkMs = 60;

let gateways: string[] = [];
let turn = 0;

/** The first response of any gateway that is no 503. */
async function call<T>(path: string, body: object): Promise<Answer<T>> {
  for (;;) {
    try {
      const response = await fetch(`${gateways[turn++ % gateways.length]}/v1/bus/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(callLimitMs),
      });
      const answer = (await response.json()) as Answer<T>['body'];
      if (response.status !== 503) return { status: response.status, body: answer };
    } catch {
      // no response: the call may or may not have taken effect
    }
    await after(retryMs);
  }
}

async function work(name: string): Promise<never> {
  const labels = name.startsWith('gpu') ? ['gpu'] : [];
  await call('workers', { name, labels });
  for (;;) {
    const { status, body: task } = await call<BusAssignment>(`workers/${name}/poll`, { timeoutMs: pollMs });
    // It was killed during a task, and was restarted under its name.
    if (status === 409) await call(`workers/${name}/reset`, {});
    if (status !== 200 || !task.taskId) continue;
    const { taskId, lease } = task;
    const acknowledged = await call(`tasks/${taskId}/ack`, { name, lease });
    if (acknowledged.status !== 200) continue;
    await after(Math.random() * mostWorkMs);
    const { status: ended, body } = await call(`tasks/${taskId}/done`, { lease, result: { name, lease } });
    const reported: Reported = { name, taskId, lease, status: ended, existing: body.existing === true };
    process.send?.({ reported });
  }
}

process.on('disconnect', () => process.exit(0));
process.on('message', (message: { gateways: string[] }) => {
  const first = gateways.length === 0;
  gateways = message.gateways;
  if (first) for (const name of (process.env.FAULTS_WORKERS ?? '').split(',')) void work(name);
});
process.send?.({ ready: true });
