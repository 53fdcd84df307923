/** docker-compose.yml on a Docker engine: builds its images and runs its containers, with scripted-model as the model. */
import { get } from 'node:http';
import { setTimeout as after } from 'node:timers/promises';
import type { Run } from '@harness/contracts';
import { freePort } from '@harness/runtime';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type ComposeProject, findCompose, openProject } from './compose-project.ts';

const found = await findCompose();
if ('missing' in found) console.warn(`The compose tests are SKIPPED: ${found.missing}.`);

const key = 'key-of-the-compose-test';
const firstBuildLimitMs = 900_000;
const answerLimitMs = 60_000;
const poll = { timeout: answerLimitMs, interval: 200 };
/** Between the requests of one loop: three loops stay below the 200 requests a second that a key may send. */
const paceMs = 20;

describe.skipIf('missing' in found)('docker-compose.yml', () => {
  let project: ComposeProject;
  let url: string;
  let removed = false;

  beforeAll(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    project = openProject('command' in found ? found.command : [], {
      PORT: String(port),
      HARNESS_API_KEY: key,
      HARNESS_WORKSPACES: 'auto',
      HARNESS_WORKER_TTL_MS: '2000', // so that a dead worker is detected soon
      COMPOSE_PROFILES: 'demo',
      ANTHROPIC_BASE_URL: 'http://scripted-model:8099',
      ANTHROPIC_API_KEY: 'scripted-model needs none',
    });
    await project.compose('up', '--build', '--detach').catch(async (error) => {
      await printLogs();
      throw error;
    });
  }, firstBuildLimitMs);

  afterAll(() => (removed ? undefined : project?.remove()), 120_000);

  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail' && !removed) await printLogs();
  });

  const printLogs = async () => console.error(await project.compose('logs', '--no-color', '--tail', '60'));

  const call = async <T>(path: string, body?: object): Promise<T> => {
    const response = await fetch(url + path, {
      headers: {
        authorization: `Bearer ${key}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(answerLimitMs),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return JSON.parse(text) as T;
  };
  const newThread = async () => (await call<{ threadId: string }>('/v1/threads', {})).threadId;
  const ask = async (input: string) => call<Run>(`/v1/threads/${await newThread()}/runs/wait`, { input });
  /** Sends a message and waits until a worker runs its turn. */
  const startRun = async (input: string) => {
    const { threadId, runId } = await call<Run>(`/v1/threads/${await newThread()}/runs`, { input });
    const look = () => call<Run>(`/v1/threads/${threadId}/runs/${runId}`);
    await expect.poll(async () => (await look()).status, poll).toBe('running');
    return look;
  };
  const scale = (...args: string[]) => project.compose('up', '--detach', '--no-recreate', ...args);

  test('a message through the load balancer is answered, by a session that calls a tool', async () => {
    const run = await ask('call: time__current_time {"timezone":"Europe/Berlin"}\nsay: it is late');
    expect(run).toMatchObject({ status: 'success', result: 'it is late', attempt: 1 });
  });

  test('an agent works in its sandbox without a capability, and its files are there for callers', async () => {
    const { threadId } = await call<{ threadId: string }>('/v1/threads', { workspace: true });
    const command = 'id -u; ls /proc | wc -l; ls /app 2>&1 | wc -l; python3 -c "print(6 * 7)" > answer.txt';
    const input = `use: Bash ${JSON.stringify({ command })}\nsay: done`;
    expect(await call<Run>(`/v1/threads/${threadId}/runs/wait`, { input })).toMatchObject({ result: 'done' });
    const headers = { authorization: `Bearer ${key}` };
    const file = await fetch(`${url}/v1/threads/${threadId}/files/answer.txt`, { headers });
    expect([file.status, await file.text()]).toEqual([200, '42\n']);
    const { workers } = await call<{ workers: { sandbox: object }[] }>('/v1/workers');
    expect(workers).toMatchObject([{ sandbox: { level: expect.stringMatching(/^bubblewrap/) } }]);
  });

  test('the console is served', async () => {
    const page = await fetch(`${url}/console`);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<div id="root"')]);
  });

  test('MCP lists the tools through the load balancer', async () => {
    const response = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-06-18',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
    });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('"time__current_time"');
  });

  test('without a key every request is refused', async () => {
    expect((await fetch(`${url}/v1/threads`)).status).toBe(401);
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect((await fetch(`${url}/mcp`, { method: 'POST', headers, body })).status).toBe(401);
  });

  test('the load balancer passes the Host of a request to the gateway, which checks it', async () => {
    expect(await statusFor('evil.example')).toBe(403);
    expect(await statusFor('lb:8080')).toBe(200);
  });

  test('without HARNESS_API_KEY nothing starts, and the message names it', async () => {
    await expect(project.composeWithout('HARNESS_API_KEY', 'up', '--detach')).rejects.toThrow(
      'Set HARNESS_API_KEY in the environment or in .env',
    );
  });

  test('three workers, two gateways: every thread gets its responses, also while a gateway stops', async () => {
    await scale('--scale', 'worker=3', '--scale', 'gateway=2');
    expect(await project.containersOf('worker')).toHaveLength(3);
    const [first, second] = await project.containersOf('gateway');
    const answers = async () => {
      const runs = await Promise.all(Array.from({ length: 6 }, (_, n) => ask(`say: answer ${n}`)));
      return runs.map(({ result }) => result);
    };
    const expected = Array.from({ length: 6 }, (_, n) => `answer ${n}`);
    expect(await answers()).toEqual(expected);

    // Each gateway alone can serve everything: the load balancer finds both, and no request fails while one stops.
    for (const gateway of [first, second]) {
      const stopped = project.docker('stop', String(gateway)).then(() => true);
      const next = () => call('/v1/tools').then(() => after(paceMs, false));
      while (!(await Promise.race([stopped, next()])));
      expect(await answers()).toEqual(expected);
      await project.docker('start', String(gateway));
      await expect.poll(() => project.healthOf(String(gateway)), poll).toBe('healthy');
    }
  }, 300_000);

  test('a rolling replacement, container by container, under traffic: no request fails', async () => {
    const old = await project.containersOf('gateway', 'worker');
    let over = false;
    let answered = 0;
    /** Requests are not retried: any failure ends the test. */
    const traffic = async (request: () => Promise<unknown>) => {
      while (!over) {
        await request();
        answered++;
        await after(paceMs);
      }
    };
    const sent = Promise.all([
      traffic(() => call('/v1/tools')),
      traffic(() => newThread()),
      traffic(async () => {
        // A gateway that stops ends a wait with 202 and the current state of the run; the run itself continues.
        const { threadId, runId } = await ask('say: still here');
        const look = async () => (await call<Run>(`/v1/threads/${threadId}/runs/${runId}`)).result;
        await expect.poll(look, poll).toBe('still here');
      }),
    ]).finally(() => {
      over = true;
    });
    const replaced = (async () => {
      for (const container of old) {
        if (over) return;
        await project.docker('stop', container);
        await project.docker('rm', container);
        await scale('--scale', 'worker=3', '--scale', 'gateway=2');
        const now = await project.containersOf('gateway', 'worker');
        for (const one of now) await expect.poll(() => project.healthOf(one), poll).toBe('healthy');
      }
      over = true;
    })();
    await Promise.all([sent, replaced]);
    expect(answered).toBeGreaterThan(50);
    const now = await project.containersOf('gateway', 'worker');
    expect(now).toHaveLength(5);
    expect(now.filter((container) => old.includes(container))).toEqual([]);
  }, 400_000);

  test('a gateway without CPU for some seconds keeps its traffic; a dead one loses it within 5 s', async () => {
    const [balancer = ''] = await project.containersOf('lb');
    const [, second = ''] = await project.containersOf('gateway');
    const output = async (since: string) => project.docker('logs', '--since', since, balancer);
    const clock = async () => (await project.docker('exec', balancer, 'date', '-u', '+%FT%TZ')).trim();

    // The pause itself is tested, so the test sleeps.
    const pausedAt = await clock();
    await project.docker('pause', second);
    await project.docker('exec', balancer, 'sleep', '5');
    await project.docker('unpause', second);
    await project.docker('exec', balancer, 'sleep', '2');
    expect(await output(pausedAt)).not.toContain('DOWN');

    const killedAt = await clock();
    await project.docker('kill', second);
    await expect.poll(() => output(killedAt), { timeout: 5_000, interval: 200 }).toContain('DOWN');
    await scale('--scale', 'worker=3', '--scale', 'gateway=2');
  }, 180_000);

  test('Redis requires a password, and only gateways and workers can reach it', async () => {
    const [redis = ''] = await project.containersOf('redis');
    expect(await project.docker('exec', redis, 'redis-cli', 'ping')).toContain('NOAUTH');
    const replyTo = (user: string, file: string) => (command: string) => {
      const script = `REDISCLI_AUTH=$(cat ${file}) redis-cli --user ${user} --no-auth-warning ${command}`;
      return project.docker('exec', redis, 'sh', '-c', script);
    };
    const operated = replyTo('operator', '/root/operator');
    expect(await operated('config set auto-aof-rewrite-percentage 100')).toContain('OK');
    expect(await operated('flushall')).toContain('NOPERM');
    const reply = replyTo('harness', '/run/redis-access/password');
    expect(await reply('ping')).toContain('PONG');
    for (const command of ['flushall', 'config get dir', 'get foreign'])
      expect(await reply(command)).toContain('NOPERM');

    const address = await project.docker(
      'inspect',
      '--format',
      '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}',
      redis,
    );
    const knock = `require('net').connect(6379, '${address.trim()}').setTimeout(1500, () => end('no')).on('connect', () => end('yes')).on('error', () => end('no'));
      function end(word) { console.log(word); process.exit(); }`;
    const reaches = async (service: string) => {
      const [container = ''] = await project.containersOf(service);
      return (await project.docker('exec', container, 'node', '-e', knock)).trim();
    };
    for (const [service, expected] of Object.entries({
      gateway: 'yes',
      worker: 'yes',
      lb: 'no',
      'scripted-model': 'no',
    }))
      expect([service, await reaches(service)]).toEqual([service, expected]);
  }, 60_000);

  test('every container has limits, its log is bounded, and workers serve their metrics inside the network', async () => {
    const format = '{{.HostConfig.Memory}} {{.HostConfig.CpuQuota}} {{.HostConfig.PidsLimit}}';
    const logs = '{{index .HostConfig.LogConfig.Config "max-size"}}';
    for (const service of ['redis', 'gateway', 'lb', 'worker', 'scripted-model']) {
      const [container = ''] = await project.containersOf(service);
      const output = await project.docker('inspect', '--format', `${format} ${logs}`, container);
      expect([service, output.trim()]).toEqual([service, expect.stringMatching(/^(?:[1-9]\d* ){3}10m$/)]);
    }
    const [gateway = ''] = await project.containersOf('gateway');
    const read = `fetch('http://worker:8081/metrics').then((r) => r.text()).then(console.log)`;
    expect(await project.docker('exec', gateway, 'node', '-e', read)).toContain(
      'harness_worker_sessions_max 5',
    );
  }, 60_000);

  test('after workers are killed during a turn, the run ends on another worker', async () => {
    const look = await startRun('sleep: 3000\nsay: survived');
    await project.docker('kill', ...(await project.containersOf('worker')));
    await scale('--scale', 'worker=3', '--scale', 'gateway=2');
    await expect.poll(async () => (await look()).status, poll).toBe('success');
    expect(await look()).toMatchObject({ result: 'survived', attempt: 2 });
  }, 180_000);

  test('a worker that is stopped finishes its turn first', async () => {
    const look = await startRun('sleep: 3000\nsay: drained');
    await project.compose('stop', 'worker');
    expect(await look()).toMatchObject({ status: 'success', result: 'drained', attempt: 1 });
  }, 180_000);

  test('accepted messages survive a restart of Redis, and the next worker runs them', async () => {
    const threadId = await newThread();
    const { runId } = await call<Run>(`/v1/threads/${threadId}/runs`, { input: 'say: kept' });
    await project.compose('restart', 'redis');
    await scale();
    const result = async () =>
      (await call<Run>(`/v1/threads/${threadId}/runs/${runId}`).catch(() => undefined))?.result;
    await expect.poll(result, poll).toBe('kept');
    // Redis replays its log as a separate user, which must be allowed every command.
    expect(await project.compose('logs', '--no-color', 'redis')).not.toContain('NOPERM');
  }, 180_000);

  test('`down` removes everything', async () => {
    await project.remove();
    removed = true;
    expect(await project.leftovers()).toEqual([]);
  }, 180_000);

  /** With `fetch` a caller cannot choose the Host. */
  const statusFor = (host: string) =>
    new Promise((resolve, reject) => {
      get(`${url}/healthz`, { headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on('error', reject);
    });
});
