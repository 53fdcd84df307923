/** What a program in a sandbox tries so that its limits, and the end of its turn, do not see it. */
import { existsSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { openFleet, type TestFleet } from '../open-fleet.ts';
import { bash, hasSandbox, resultOf, work } from '../workspace/work.ts';

const levels = ['bubblewrap', 'bubblewrap-bound-proc'] as const;
const limitMs = 120_000;
const canRun = hasSandbox && existsSync('/usr/bin/python3');

/** One fleet for each level. */
const fleets = new Map<string, Promise<TestFleet>>();
const closings: (() => Promise<void>)[] = [];
afterAll(() => Promise.all(closings.map((close) => close())), 60_000);

function openLimited(level: (typeof levels)[number]): Promise<TestFleet> {
  const opening = fleets.get(level) ?? open(level);
  fleets.set(level, opening);
  return opening;
}

/** Small limits: what the programs write goes to the disk of Redis, whose own writes wait for it. */
async function open(level: (typeof levels)[number]): Promise<TestFleet> {
  const fleet = await openFleet({
    workers: 0,
    env: { HARNESS_WORKSPACES: 'on' },
    onEnd: (close) => void closings.push(close),
  });
  await fleet.addWorker({
    HARNESS_SANDBOX: level,
    HARNESS_THREAD_FILES_MB: '16',
    HARNESS_SANDBOX_MEMORY_MB: '768',
  });
  return fleet;
}

const python = (...lines: string[]) => ['python3 - <<"END"', ...lines, 'END'].join('\n');
/** Leaves the command's session and its output, so that the command ends. */
const detached = [
  'import os, threading, time',
  'if os.fork(): os._exit(0)',
  'os.setsid()',
  'null = os.open("/dev/null", os.O_RDWR)',
  'for fd in range(3): os.dup2(null, fd)',
  'end = time.time() + 60',
  'log = os.open("/workspace/log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)',
];
/** Each process lives for a moment only. */
const chain = [
  ...detached,
  'n = 0',
  'while time.time() < end:',
  '  if os.fork(): os._exit(0)',
  '  n += 1',
  '  if n % 50 == 0: os.write(log, b"x")',
];
/** Its first thread has ended, so that the process looks like one that has. */
const headless = [
  ...detached,
  'import ctypes',
  'def beat():',
  '  while time.time() < end:',
  '    os.write(log, b"x")',
  '    time.sleep(0.02)',
  'threading.Thread(target=beat).start()',
  'ctypes.CDLL(None).pthread_exit(None)',
];

describe.runIf(canRun).each(levels)('in a sandbox of level %s', (level) => {
  test.each([
    ['a chain of processes', chain],
    ['a process without its first thread', headless],
  ])(
    '%s does not outlive the turn',
    async (_name, program) => {
      const fleet = await openLimited(level);
      const threadId = await fleet.thread();
      const started = 'while [ ! -s log ]; do sleep 0.02; done';
      await work(fleet, threadId, bash(`${python(...program)}\n${started}`), 'say: x');
      const [before, after] = (await resultOf(fleet, threadId, 'wc -c < log; sleep 1; wc -c < log')).split(
        '\n',
      );
      expect(Number(before)).toBeGreaterThan(0);
      expect(after).toBe(before);
    },
    limitMs,
  );

  test.each([
    {
      what: 'deleted files that are still open',
      make: ['files.append(os.open("f", os.O_CREAT | os.O_RDWR))', 'os.unlink("f")'],
      mebibytes: 40,
      reason: /16 MiB of files/,
    },
    {
      what: 'memory without a name',
      make: ['files.append(os.memfd_create("f"))'],
      mebibytes: 1_000,
      reason: /768 MiB of memory/,
    },
  ])(
    '$what count',
    async ({ make, mebibytes, reason }) => {
      const fleet = await openLimited(level);
      const fill = [
        'import os, time',
        'files = []',
        `for i in range(${mebibytes / 10}):`,
        ...make.map((line) => `  ${line}`),
        '  for n in range(10): os.write(files[-1], b"x" * (1 << 20))',
        'time.sleep(20)',
      ];
      const { run } = await work(fleet, await fleet.thread(), bash(python(...fill)), 'say: x');
      expect(run).toMatchObject({
        status: 'error',
        error: { code: 'sandbox_limit', message: expect.stringMatching(reason) },
      });
    },
    limitMs,
  );

  test(
    'files in folders that are nested too deep for a path count, and nothing else of the disk or of memory can be filled',
    async () => {
      const fleet = await openLimited(level);
      const threadId = await fleet.thread();
      const tries = [
        'head -c 300M /dev/zero > /dev/shm/a || echo full',
        'touch /dev/a || echo closed',
        'touch "$(dirname $ANTHROPIC_UNIX_SOCKET)/a" || echo closed',
      ];
      const found = await resultOf(fleet, threadId, `(${tries.join('; ')}) 2>/dev/null`);
      expect(found).toBe('full\nclosed\nclosed');
      const deep = [
        'import os, time',
        'for i in range(30):',
        '  os.mkdir("x" * 250)',
        '  os.chdir("x" * 250)',
        'for i in range(4): open(str(i), "wb").write(os.urandom(8 << 20))',
        'time.sleep(20)',
      ];
      const { run } = await work(fleet, threadId, bash(python(...deep)), 'say: x');
      expect(run).toMatchObject({ status: 'error', error: { code: 'sandbox_limit' } });
    },
    limitMs,
  );
});
