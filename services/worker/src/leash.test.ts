import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const main = fileURLToPath(new URL('./leash.ts', import.meta.url));

/** A process group of its own, as an agent has: a shell and what it started. */
function startAgent(): ChildProcess & { pid: number } {
  const child = spawn('sh', ['-c', 'sleep 60 & sleep 60'], { detached: true, stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child as ChildProcess & { pid: number };
}

function startLeash(limitMs: number) {
  const leash = spawn(process.execPath, [main, String(limitMs)], { stdio: ['pipe', 'ignore', 'inherit'] });
  onTestFinished(() => void leash.kill('SIGKILL'));
  return leash;
}

const isAlive = (pid: number) => {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
};

test('a worker that falls silent loses its agents, those it let go excepted', async () => {
  const [kept, released] = [startAgent(), startAgent()];
  const leash = startLeash(300);
  leash.stdin.write(`+${kept.pid}\n+${released.pid}\n-${released.pid}\n`);
  await once(kept, 'exit');
  await expect.poll(() => isAlive(kept.pid)).toBe(false);
  expect(isAlive(released.pid)).toBe(true);
});

test('while it speaks they live; when it is gone, they are', async () => {
  const agent = startAgent();
  const leash = startLeash(400);
  leash.stdin.write(`+${agent.pid}\n`);
  const beating = setInterval(() => leash.stdin.write('\n'), 50);
  let ended = false;
  agent.once('exit', () => {
    ended = true;
  });
  // Three limits long.
  for (let beats = 0; beats < 24; beats++) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(ended).toBe(false);
  clearInterval(beating);
  leash.stdin.end();
  await Promise.all([once(leash, 'exit'), ended || once(agent, 'exit')]);
});
