/**
 * The leash: a small process beside a worker that kills the agent processes when the worker stops answering: when it is
 * stopped (SIGSTOP), its event loop is blocked, or it is gone. An agent left alone would go on having effects.
 *
 * Standard input, one line each: `+PID` holds a process group, `-PID` lets it go, an empty line is a sign of life.
 *   silent for the limit (argument, ms) -> every held group is killed
 *   end of input                        -> the same, and it ends
 */
import { createInterface } from 'node:readline';

const limitMs = Number(process.argv[2]);
const held = new Set<number>();
let heardAt = performance.now();

function killAll(): void {
  for (const pid of held) {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has gone already.
    }
  }
  held.clear();
}

setInterval(() => {
  if (performance.now() - heardAt > limitMs) killAll();
}, limitMs / 10);

createInterface({ input: process.stdin })
  .on('line', (line) => {
    heardAt = performance.now();
    const pid = Number(line.slice(1));
    if (line.startsWith('+')) held.add(pid);
    if (line.startsWith('-')) held.delete(pid);
  })
  .on('close', () => {
    killAll();
    process.exit(0);
  });

// The worker's end is what ends it, never a signal to the group they were started in.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
