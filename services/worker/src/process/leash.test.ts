import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createLogger } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { startLeash } from './hold-leash.ts';

const main = fileURLToPath(new URL('./leash.ts', import.meta.url));

/** A process group of its own, as an agent has: a shell and what it started. Both hold the pipe: it closes with the last. */
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

test('a worker that falls silent loses its agents, those it let go excepted', async () => {
  const [kept, released] = [startAgent(), startAgent()];
  const leash = spawnLeash(300);
  leash.stdin.write(`+${kept.pid}\n+${released.pid}\n-${released.pid}\n`);
  await kept.allGone;
  expect(released.lives()).toBe(true);
});

test('while it speaks they live; when it is gone, they are', async () => {
  const agent = startAgent();
  const leash = spawnLeash(400);
  leash.stdin.write(`+${agent.pid}\n`);
  const beating = setInterval(() => leash.stdin.write('\n'), 50);
  // Three limits long.
  for (let beats = 0; beats < 24; beats++) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(agent.lives()).toBe(true);
  clearInterval(beating);
  leash.stdin.end();
  await Promise.all([once(leash, 'exit'), agent.allGone]);
});

test('when the leash dies another takes its place, and holds whom it held', async () => {
  const agent = startAgent();
  const leash = startLeash({ limitMs: 2_000, logger: createLogger('worker', 'silent') });
  onTestFinished(() => leash.close());
  leash.hold({ pid: agent.pid as number, exited: agent.allGone.then(() => undefined) });
  const first = leash.pid() as number;
  process.kill(first, 'SIGKILL');
  await expect.poll(leash.pid).not.toBe(first);
  leash.close(); // the end of its input: the worker is gone
  await agent.allGone;
});
