/**
 * The leash: a small process that kills the worker's agent processes when the worker stops responding: it is
 * stopped (SIGSTOP), its event loop is blocked, or it has ended. Without it the agents would continue to have
 * effects.
 *
 * Standard input, one command per line: `+PID` holds a process group, `-PID` releases it, an empty line is a
 * heartbeat.
 *   no input for the limit (argument, ms) -> kills every held group
 *   end of input                          -> kills every held group and exits
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
      // Already ended.
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

// Only the end of the worker ends the leash, never a signal to a process group.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
