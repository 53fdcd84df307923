import { setTimeout as after } from 'node:timers/promises';
import type { SandboxLevel } from './bubblewrap.ts';
import { childrenOf, descendantsOf, hasEnded } from './process-tree.ts';

/** A stray that starts others is not caught at once. */
const rounds = 20;
const pauseMs = 10;
/** Without a /proc of its own a sandbox has no process that collects orphans; they count for its number of processes. */
const maxZombies = 32;

/**
 * Kills what tools have started and left running, so that nothing changes the workspace while its version is taken. `pid`: the
 * sandbox's first process; `keep`: those that are not a tool's. Returns false when some could not be ended, or too many have ended that nothing collects: then the
 * session must end.
 */
export async function killStrays(
  pid: number,
  level: SandboxLevel,
  keep: ReadonlySet<number>,
): Promise<boolean> {
  for (let round = 0; round < rounds; round++) {
    const strays = straysOf(pid, level).filter((one) => !keep.has(one));
    if (strays.length === 0) return zombiesIn(pid) <= maxZombies;
    for (const stray of strays) {
      try {
        process.kill(stray, 'SIGKILL');
      } catch {
        // Already ended.
      }
    }
    await after(pauseMs);
  }
  return false;
}

/** All but the sandbox and the agent in it: the first that the sandbox started. */
function straysOf(pid: number, level: SandboxLevel): number[] {
  const [inside] = childrenOf(pid);
  const agent = level === 'bubblewrap' && inside !== undefined ? childrenOf(inside)[0] : inside;
  return descendantsOf(pid).filter((one) => one !== inside && one !== agent && !hasEnded(one));
}

const zombiesIn = (pid: number) => descendantsOf(pid).filter(hasEnded).length;
