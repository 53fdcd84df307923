/** Files of threads while workers are killed, stopped and drained, and while the disk is full. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Run } from '@harness/contracts';
import { openFileStore } from '@harness/workspaces';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openFleet, type TestFleet } from '../open-fleet.ts';
import { bash, hasSandbox, work } from '../workspace/work.ts';

const ttlMs = 2_000;
const messages = 5;

/** The lines of a thread's file after a run. */
async function linesAfter(fleet: TestFleet, run: Run): Promise<string[]> {
  const response = await fetch(`${fleet.url}/v1/threads/${run.threadId}/files/log?run=${run.runId}`);
  if (response.status === 404) return [];
  expect(response.status).toBe(200);
  return (await response.text()).split('\n').filter((line) => line !== '');
}

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'harness-files-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

describe.runIf(hasSandbox)('files under faults', () => {
  test('F40 workers are killed, stopped and drained in mid-turn: versions are whole, none is lost, none has files of another thread', async () => {
    const files = await directory();
    const env = {
      HARNESS_WORKSPACES: 'on',
      HARNESS_WORKER_TTL_MS: String(ttlMs),
      HARNESS_DRAIN_MS: '300',
      HARNESS_FILES_DIR: files,
    };
    const fleet = await openFleet({ workers: 2, env });
    const threads = await Promise.all(['a', 'b', 'c'].map((threadId) => fleet.thread({ threadId })));
    const loads = threads.map(async (threadId) => {
      const runs: Run[] = [];
      for (let n = 1; n <= messages; n++) {
        const script = [
          'persist:',
          bash(`echo ${threadId}${n} >> log; cp log copy-${n}`),
          'sleep: 700',
          bash('cat log'),
          'say: done',
        ];
        runs.push(await fleet.ask(threadId, script.join('\n')));
      }
      return runs;
    });
    const wrote = (threadId: string, count: number) => {
      let seen = 0;
      return fleet.watch(
        `/v1/threads/${threadId}/events?follow=true`,
        ({ type }) => type === 'agent.tool_result' && ++seen >= count,
      );
    };
    const [first, second] = fleet.workers;
    await wrote('a', 2);
    first?.process.kill('SIGKILL');
    const third = await fleet.addWorker();
    await wrote('b', 5);
    second?.process.kill('SIGSTOP');
    const fourth = await fleet.addWorker();
    await wrote('b', 7);
    second?.process.kill('SIGCONT');
    await Promise.all([third.end(20_000), fleet.addWorker()]);
    const all = await Promise.all(loads);
    expect(fourth.process.exitCode).toBeNull();
    for (const [index, runs] of all.entries()) {
      let before: string[] = [];
      for (const [n, run] of runs.entries()) {
        expect([run.status, run.result]).toEqual(['success', 'done']);
        const lines = await linesAfter(fleet, run);
        const own = `${threads[index]}${n + 1}`;
        // A killed attempt loses its own change; whatever was committed stays, in order.
        expect([before, [...before, own]]).toContainEqual(lines);
        if (run.attempt === 1) expect(lines.at(-1)).toBe(own);
        before = lines;
      }
    }
    const store = openFileStore({ dir: files });
    const live = async function* () {
      for (const run of all.flat()) if (run.files) yield run.files;
    };
    expect(await store.of('default').verify(live())).toMatchObject({ damaged: [], missing: [] });
  });

  test.runIf(process.getuid?.() === 0)(
    'F41 the disk of the files is full: the run says so, the earlier version stays, and the thread goes on',
    async () => {
      const files = await directory();
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'none', files]);
      onTestFinished(() => void execFileSync('umount', ['-l', files]));
      const fleet = await openFleet({ env: { HARNESS_WORKSPACES: 'on', HARNESS_FILES_DIR: files } });
      const threadId = await fleet.thread();
      const small = await work(fleet, threadId, bash('echo kept > log'), 'say: done');
      const large = await work(
        fleet,
        threadId,
        bash('head -c 12M /dev/urandom > large; echo more >> log'),
        'say: done',
      );
      expect(large.run).toMatchObject({ status: 'error', error: { code: 'storage_full' } });
      const after = await work(fleet, threadId, bash('ls; cat log'), 'say: done');
      expect(after.run).toMatchObject({ status: 'success', files: small.run.files });
      expect(after.results).toEqual([{ isError: false, text: 'log\nkept' }]);
    },
  );
});
