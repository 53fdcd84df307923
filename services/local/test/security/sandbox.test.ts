/** What an agent with a shell tries against its sandbox, at each level that a worker may find. */
import { afterAll, describe, expect, test } from 'vitest';
import { openFleet, type TestFleet } from '../open-fleet.ts';
import { bash, hasSandbox, resultOf, use, work } from '../workspace/work.ts';

const secret = 'sk-ant-operators-secret';

const levels = ['bubblewrap', 'bubblewrap-bound-proc'] as const;
/** Each test starts a fleet, and some wait for limits. */
const limitMs = 120_000;

/** Fleets by the settings of their worker: tests with the same ones share a fleet. */
const fleets = new Map<string, Promise<TestFleet>>();
const closings: (() => Promise<void>)[] = [];
afterAll(() => Promise.all(closings.map((close) => close())), 60_000);

async function openOne(level: (typeof levels)[number], env: Record<string, string>): Promise<TestFleet> {
  const fleet = await openFleet({
    workers: 0,
    env: { HARNESS_WORKSPACES: 'on' },
    onEnd: (close) => void closings.push(close),
  });
  await fleet.addWorker({
    HARNESS_SANDBOX: level,
    ANTHROPIC_API_KEY: secret,
    ANTHROPIC_CUSTOM_HEADERS: `x-team: ${secret}`,
    AWS_SECRET_ACCESS_KEY: secret,
    ...env,
  });
  return fleet;
}

/** A fleet whose worker holds a secret, and a thread of which the agent may use every tool. */
async function openEnclosed(level: (typeof levels)[number], env: Record<string, string> = {}) {
  const key = JSON.stringify([level, env]);
  const opening = fleets.get(key) ?? openOne(level, env);
  fleets.set(key, opening);
  const fleet = await opening;
  const threadId = await fleet.thread();
  return { fleet, threadId, run: (command: string) => resultOf(fleet, threadId, command) };
}

describe.runIf(hasSandbox).each(levels)('in a sandbox of level %s', (level) => {
  test(
    'no secret can be read, and nothing of other processes, users and files',
    async () => {
      const { fleet, threadId, run } = await openEnclosed(level);
      const [worker] = await fleet
        .get<{ workers: { sandbox: object }[] }>('/v1/workers')
        .then((all) => all.workers);
      expect(worker?.sandbox).toEqual({ level });
      const other = await fleet.thread();
      await work(
        fleet,
        other,
        use('Write', { file_path: '/workspace/private.txt', content: 'of another thread' }),
        'say: x',
      );
      const found = await run(
        `grep -rl "[o]perators-secret" /tmp /workspace /etc /home /root /run /var 2>/dev/null | head; env | grep -c "[o]perators-secret"`,
      );
      expect(found).toBe('0');
      expect(
        await run(
          'cat /proc/[0-9]*/environ /proc/self/environ 2>/dev/null | tr "\\\\0" "\\\\n" | grep -c "[o]perators-secret"',
        ),
      ).toBe('0');
      expect(await run('find / -name private.txt -not -path "/proc/*" 2>/dev/null | wc -l')).toBe('0');
      expect(await run('cat /etc/shadow /root/.bashrc /var/run/redis/x 2>&1 | grep -vc "No such file"')).toBe(
        '0',
      );
      const home = await run(
        'ls -a /home /root /work /app /srv /opt 2>/dev/null; ls -d /tmp/*; cat /etc/passwd',
      );
      expect(home).toMatch(/agent:x:1000/);
      expect(home).not.toMatch(/root:x/);
      expect(await run('ps -e 2>/dev/null | wc -l; ls -d /proc/[0-9]* 2>/dev/null | wc -l')).toMatch(
        /^\d\n\d$/,
      );
      expect(
        (await work(fleet, threadId, use('Read', { file_path: '/etc/shadow' }), 'say: x')).results[0]
          ?.isError,
      ).toBe(true);
    },
    limitMs,
  );

  test(
    'no network, no capability, no other user, nothing to write to',
    async () => {
      const { fleet, run } = await openEnclosed(level);
      const { port } = new URL(fleet.url);
      const tries = [
        `(exec 3<>/dev/tcp/127.0.0.1/${port}) 2>&1 | grep -q -i refused && echo 1`,
        '(exec 3<>/dev/tcp/169.254.169.254/80) 2>&1 | grep -q -i unreachable && echo 1',
        'grep CapEff /proc/self/status | grep -c 0000000000000000',
        'grep NoNewPrivs: /proc/self/status | grep -c 1',
        'for f in /x /usr/x /etc/x /proc/sys/kernel/hostname; do echo 1 > $f; done 2>&1 | grep -c -E "Read-only|denied|nonexistent|No such"',
        'mount -t tmpfs none /tmp 2>&1 | grep -c -E "denied|permitted|must be superuser"',
        'chown 0 . 2>&1 | grep -c -E "permitted|Invalid"',
        'ls /dev/sda /dev/vda /dev/mem /dev/kmsg 2>&1 | grep -c "No such"',
      ];
      expect((await run(tries.join('; '))).split('\n')).toEqual(['1', '1', '1', '1', '4', '1', '1', '4']);
      if (level === 'bubblewrap') expect(await run('unshare -Ur true 2>&1 | grep -c unshare')).toBe('1');
    },
    limitMs,
  );

  test(
    'the socket of the model serves the model alone, with the key of this session, and only during a turn',
    async () => {
      const { fleet, threadId, run } = await openEnclosed(level);
      const ask = (path: string, key = '$ANTHROPIC_API_KEY') =>
        `curl -s --path-as-is -o /dev/null -w "%{http_code} " --unix-socket $ANTHROPIC_UNIX_SOCKET -H "x-api-key: ${key}" -H "content-type: application/json" -d '{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}' http://model.invalid${path}`;
      expect(
        await run(
          [
            ask('/v1/messages'),
            ask('/v1/messages', 'wrong'),
            ask('/v1/files'),
            ask('/../v1/keys'),
            ask('//127.0.0.1:9/v1/messages'),
            ask('/v1/messages/../keys'),
          ].join('; '),
        ),
      ).toBe('200 401 404 404 404 404');
      // What a command leaves behind ends with its turn, and with it its use of the model.
      const stay = `nohup setsid sh -c 'while true; do ${ask('/v1/messages')} >> /workspace/log; sleep 0.05; done' > /dev/null 2>&1 & sleep 0.3; echo started`;
      await work(fleet, threadId, bash(stay), 'say: x');
      const [before, after] = [await run('cat log | wc -c'), await run('sleep 0.5; cat log | wc -c')];
      expect(Number(before)).toBeGreaterThan(0);
      expect(after).toBe(before);
    },
    limitMs,
  );

  test(
    'with allowed hosts, every other one and every address of this machine stays out of reach',
    async () => {
      const env = { HARNESS_EGRESS: 'allowed.example,127.0.0.1,localhost' };
      const { fleet, threadId, run } = await openEnclosed(level, env);
      const { port } = new URL(fleet.url);
      const ask = (url: string) => `curl -s -m 10 -o out -w '%{http_code} ' ${url}; cat out`;
      expect(await run(ask('http://other.example/'))).toMatch(
        /^403 .*other\.example is not among HARNESS_EGRESS/,
      );
      expect(await run(`rm -f out; http_proxy= ${ask('http://allowed.example/')}`)).toMatch(/000/); // no way around the proxy
      const local = ask("--noproxy '' http://127.0.0.1/");
      expect(await run(local)).toMatch(/^403 .*127\.0\.0\.1 has an address that is not public/);
      expect(await run(ask(`--noproxy '' http://localhost:${port}/`))).toMatch(/^403 .*port/);
      // The sandbox's own end of the way out is no stray: it is there in the next turn; and the model answers.
      expect(await run(ask('http://other.example/'))).toMatch(/^403/);
      expect((await work(fleet, threadId, 'say: still here')).run.result).toBe('still here');
    },
    limitMs,
  );

  test(
    'a fork bomb, a kill of everything and too much memory or disk cost the session alone, with the reason',
    async () => {
      const { fleet, threadId } = await openEnclosed(level, {
        HARNESS_SANDBOX_PROCESSES: '128',
        HARNESS_SANDBOX_MEMORY_MB: '768',
        HARNESS_THREAD_FILES_MB: '16',
      });
      const neighbour = await fleet.thread();
      await work(fleet, neighbour, 'remember: fig');
      const bomb = await work(
        fleet,
        threadId,
        bash('b() { b | b & }; b; sleep 1; echo end', { timeout: 5000 }),
        'say: after',
      );
      expect(['success', 'error']).toContain(bomb.run.status);
      const filled = await work(
        fleet,
        threadId,
        bash('for i in $(seq 24); do head -c 1M /dev/urandom > f$i; done; sleep 20; true', {
          timeout: 30000,
        }),
        'say: after',
      );
      expect(filled.run).toMatchObject({
        status: 'error',
        error: { code: 'sandbox_limit', message: expect.stringContaining('16 MiB of files') },
      });
      const sparse = await fleet.thread();
      expect(
        await resultOf(
          fleet,
          sparse,
          'truncate -s 10G big 2>&1; head -c 10G /dev/zero > full; ls -l | grep -c -E "^-.* [0-9]{9,} "',
        ),
      ).toMatch(/0$/);
      const greedy = await fleet.thread();
      // Not by pipes: where sessions are scheduled as groups, those of one can keep a CPU from all others for seconds.
      const eater = `for i in 1 2 3 4; do perl -e '$x = "x" x (220 << 20); sleep 20' & done; wait; true`;
      expect((await work(fleet, greedy, bash(eater, { timeout: 30000 }), 'say: after')).run).toMatchObject({
        status: 'error',
        error: { code: 'sandbox_limit', message: expect.stringContaining('768 MiB of memory') },
      });
      const killer = await fleet.thread();
      const killed = await work(fleet, killer, bash('kill -9 -1; kill -9 1; echo alive'), 'say: after');
      expect(killed.run.status).toMatch(/success|error/);
      // The neighbour has its session, and the worker takes new work.
      expect((await work(fleet, neighbour, 'recall:')).run).toMatchObject({
        path: 'warm',
        result: expect.stringContaining('fig'),
      });
      expect(await resultOf(fleet, await fleet.thread(), 'echo works')).toBe('works');
    },
    limitMs,
  );
});
