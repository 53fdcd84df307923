import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createLogger } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { startLeash } from '../../src/process/hold-leash.ts';

const main = fileURLToPath(new URL('../../src/process/leash.ts', import.meta.url));

/**
 * Starts a process group like an agent's: a shell and its child. Both hold the pipe, which closes when the
 * last one ends.
 */
function startAgent() {
  const child = spawn('sh', ['-c', 'sleep 60 & sleep 60'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  child.stdout.resume();
  onTestFinished(() => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, 'SIGKILL');
  });
  return { pid: child.pid, allGone: once(child, 'close'), lives: () => child.signalCode === null };
}

function spawnLeash(limitMs: number) {
  const leash = spawn(process.execPath, [main, String(limitMs)], { stdio: ['pipe', 'ignore', 'inherit'] });
  onTestFinished(() => void leash.kill('SIGKILL'));
  return leash;
}

test('the agents of a silent worker are killed, except those that it has released', async () => {
  const [kept, released] = [startAgent(), startAgent()];
  const leash = spawnLeash(300);
  leash.stdin.write(`+${kept.pid}\n+${released.pid}\n-${released.pid}\n`);
  await kept.allGone;
  expect(released.lives()).toBe(true);
});

test('agents live while the worker sends heartbeats, and are killed when it ends', async () => {
  const agent = startAgent();
  const leash = spawnLeash(400);
  leash.stdin.write(`+${agent.pid}\n`);
  const beating = setInterval(() => leash.stdin.write('\n'), 50);
  // Lasts three limits.
  for (let beats = 0; beats < 24; beats++) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(agent.lives()).toBe(true);
  clearInterval(beating);
  leash.stdin.end();
  await Promise.all([once(leash, 'exit'), agent.allGone]);
});

test('a leash that dies is restarted and holds the same processes', async () => {
  const agent = startAgent();
  const leash = startLeash({ limitMs: 2_000, logger: createLogger('worker', 'silent') });
  onTestFinished(() => leash.close());
  leash.hold({ pid: agent.pid as number, exited: agent.allGone.then(() => undefined) });
  const first = leash.pid() as number;
  process.kill(first, 'SIGKILL');
  await expect.poll(leash.pid).not.toBe(first);
  leash.close(); // ends its input, as the end of the worker does
  await agent.allGone;
});
