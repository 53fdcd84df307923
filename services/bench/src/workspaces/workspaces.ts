/**
 * `npm run bench -- workspaces`: what a workspace costs. Sessions: the same turns on threads with one and without, in turn. Files:
 * storing and restoring a folder, beside `cp -a` of it.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFileStore } from '@harness/workspaces';
import { figureOf, quantile, ratioOf, textOf } from '../figures.ts';
import { type BenchFleet, startBenchFleet, startModel } from '../fleet.ts';

const warmTurns = 15;
const sizes = [100, 5_000, 50_000] as const;
const fileBytes = 2_000;
const changedFiles = 10;

/** Measures and prints the section. */
export async function reportWorkspaces(rounds: number): Promise<void> {
  await reportSessions(rounds);
  for (const files of sizes) await reportFiles(files, rounds);
}

interface SessionRound {
  firstMs: number;
  warmMs: number;
  shellMs: number;
  mib: number;
}

async function reportSessions(rounds: number): Promise<void> {
  const model = await startModel();
  const fleet = await startBenchFleet(model.ready.url, 1, {
    HARNESS_WORKSPACES: 'auto',
    HARNESS_MAX_SESSIONS: '40',
  });
  const plain: SessionRound[] = [];
  const enclosed: SessionRound[] = [];
  try {
    for (let round = 0; round < rounds; round++) {
      plain.push(await measureThread(fleet, {}));
      enclosed.push(await measureThread(fleet, { workspace: true }));
    }
  } finally {
    await fleet.close();
    await model.end(10_000);
  }
  const of = (found: SessionRound[], name: keyof SessionRound) => found.map((round) => round[name]);
  const compare = (label: string, name: keyof SessionRound, unit: string) =>
    console.log(
      `  ${label}  ${textOf(figureOf(of(enclosed, name)), unit)}, without ${textOf(figureOf(of(plain, name)), unit)}; ratio ${textOf(ratioOf(of(enclosed, name), of(plain, name)), '×')}`,
    );
  console.log('A session with a workspace, in its sandbox, compared with one without');
  compare('first result of a new thread', 'firstMs', 'ms');
  compare('result of a warm turn       ', 'warmMs', 'ms');
  compare('memory of the session (PSS) ', 'mib', 'MiB');
  console.log(`  turn with a command           ${textOf(figureOf(of(enclosed, 'shellMs')), 'ms')}`);
}

async function measureThread(fleet: BenchFleet, body: { workspace?: boolean }): Promise<SessionRound> {
  const [worker = 0] = fleet.workers;
  const before = pssBelow(worker);
  const threadId = await fleet.thread(body);
  const first = await fleet.ask(threadId, 'say: first');
  const warm: number[] = [];
  for (let turn = 0; turn < warmTurns; turn++) warm.push((await fleet.ask(threadId, 'say: next')).resultMs);
  const mib = (pssBelow(worker) - before) / 1024 / 1024;
  const command = 'use: Bash {"command":"echo x >> file"}\nsay: done';
  const shell = body.workspace ? await fleet.ask(threadId, command) : undefined;
  return {
    firstMs: first.resultMs,
    warmMs: quantile(
      warm.toSorted((a, b) => a - b),
      0.5,
    ),
    shellMs: shell?.resultMs ?? Number.NaN,
    mib,
  };
}

/** Memory of the processes below one, shared pages by their share, bytes. */
function pssBelow(pid: number): number {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const stat = textOfFile(`/proc/${name}/stat`);
    parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
  }
  const isBelow = (one: number | undefined): boolean =>
    one !== undefined && one > 1 && (parents.get(one) === pid || isBelow(parents.get(one)));
  const kib = [...parents.keys()]
    .filter(isBelow)
    .map((one) => Number(/^Pss:\s+(\d+)/m.exec(textOfFile(`/proc/${one}/smaps_rollup`))?.[1] ?? 0));
  return kib.reduce((sum, one) => sum + one, 0) * 1024;
}

function textOfFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // the process has ended
  }
}

interface FilesRound {
  store: number;
  again: number;
  changed: number;
  restore: number;
  copy: number;
}

async function reportFiles(files: number, rounds: number): Promise<void> {
  const found: FilesRound[] = [];
  for (let round = 0; round < rounds; round++) found.push(await measureFiles(files));
  const of = (name: keyof FilesRound) => found.map((one) => one[name]);
  const line = (label: string, name: keyof FilesRound) =>
    console.log(
      `  ${label}  ${textOf(figureOf(of(name)), 'ms')}; ratio to cp -a ${textOf(ratioOf(of(name), of('copy')), '×')}`,
    );
  console.log(`${files} files of ${fileBytes} bytes (cp -a: ${textOf(figureOf(of('copy')), 'ms')})`);
  line('first version        ', 'store');
  line('nothing has changed  ', 'again');
  line(`${changedFiles} files have changed`, 'changed');
  line('restore              ', 'restore');
}

async function measureFiles(count: number): Promise<FilesRound> {
  const dir = mkdtempSync(join(tmpdir(), 'harness-bench-'));
  const limits = { bytes: 2 ** 40, files: 10 ** 7 };
  try {
    const work = join(dir, 'work');
    for (let n = 0; n < count; n++) {
      const folder = join(work, `folder-${n % 100}`);
      if (n < 100) mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, `${n}.txt`), `${n} `.repeat(fileBytes).slice(0, fileBytes));
    }
    const store = openFileStore({ dir: join(dir, 'store') }).of('bench');
    const copy = await timed(async () => execFileSync('cp', ['-a', work, join(dir, 'copy')]));
    const first = await timed(() => store.snapshot(work, { limits }));
    const again = await timed(() => store.snapshot(work, { limits, previous: first.result }));
    for (let n = 0; n < changedFiles; n++)
      writeFileSync(join(work, `folder-${n}`, `${n}.txt`), `changed ${n}`);
    const changed = await timed(() => store.snapshot(work, { limits, previous: again.result }));
    const target = join(dir, 'restored');
    mkdirSync(target);
    const restore = await timed(() => store.restore(changed.result.version, target));
    return { store: first.ms, again: again.ms, changed: changed.ms, restore: restore.ms, copy: copy.ms };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const startedAt = performance.now();
  const result = await work();
  return { ms: performance.now() - startedAt, result };
}
