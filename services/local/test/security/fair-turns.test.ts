import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Run } from '@harness/contracts';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';

const slots = 2;
const as = (key: string) => ({ authorization: `Bearer ${key}` });

async function openTwoTenants() {
  const folder = await mkdtemp(join(tmpdir(), 'harness-fair-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'keys.json');
  const keys = ['busy', 'quiet'].map((id) => ({
    id,
    keySha256: createHash('sha256').update(id).digest('hex'),
    tenant: id,
    scopes: ['threads'],
  }));
  await writeFile(file, JSON.stringify(keys));
  return openFleet({ env: { HARNESS_API_KEYS_FILE: file, HARNESS_MAX_SESSIONS: String(slots) } });
}

test('while one tenant has hundreds of waiting messages, the turns of another begin within the time of one turn', async () => {
  const fleet = await openTwoTenants();
  const threadOf = async (key: string) =>
    (await fleet.post<{ threadId: string }>('/v1/threads', {}, as(key))).threadId;
  const busy = await Promise.all(Array.from({ length: 20 }, () => threadOf('busy')));
  await Promise.all(
    busy.flatMap((threadId) =>
      Array.from({ length: 15 }, () => fleet.send(threadId, 'sleep: 1500\nsay: done', as('busy'))),
    ),
  );
  const runsOf = async (key: string, threadId: string) => {
    const response = await fetch(`${fleet.url}/v1/threads/${threadId}/runs?limit=200`, { headers: as(key) });
    return ((await response.json()) as { runs: Run[] }).runs;
  };
  const busyRuns = async () => (await Promise.all(busy.map((one) => runsOf('busy', one)))).flat();
  const begun = (runs: Run[]) => runs.filter(({ startedAt }) => startedAt !== null);
  // The worker is busy: its sessions are warm, and all its slots are taken.
  await expect.poll(async () => begun(await busyRuns()).length, { timeout: 40_000 }).toBeGreaterThan(4);

  for (let turn = 0; turn < 2; turn++) {
    const threadId = await threadOf('quiet');
    const { runId } = await fleet.send(threadId, 'say: hello', as('quiet'));
    const started = async () =>
      (await runsOf('quiet', threadId)).find((run) => run.runId === runId)?.startedAt;
    await expect.poll(started, { timeout: 30_000 }).toEqual(expect.any(String));
    const [run] = (await runsOf('quiet', threadId)) as [Run];
    const between = begun(await busyRuns()).filter(
      ({ startedAt }) => String(startedAt) > run.createdAt && String(startedAt) < String(run.startedAt),
    );
    // Each slot may just have been given to a turn of the other tenant.
    expect(between.length).toBeLessThanOrEqual(slots);
  }
});
