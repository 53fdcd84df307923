import { setTimeout as after } from 'node:timers/promises';
import { childrenOf, descendantsOf, isZombie, type SandboxLevel } from '@harness/sandbox';

/** A stray that starts others is not caught at once. */
const rounds = 20;
const pauseMs = 10;
/** Without a /proc of its own a sandbox has no process that collects orphans; they count for its number of processes. */
const maxZombies = 32;

/**
 * Kills what tools have started and left running, so that nothing changes the workspace while its version is taken. `pid`: the
 * sandbox's first process; `keep`: those that are not a tool's. Returns false when some could not be ended, or too many have ended
 * that nothing collects: then the session must end.
 *
 * A stray may start another and end while it is being looked for. Nothing is left only when two looks in a row find nobody but
 * the agent and zombies that the look before has found: whoever passed from the agent to the first process during one look is
 * seen by the next.
 */
export async function killStrays(
  pid: number,
  level: SandboxLevel,
  keep: ReadonlySet<number>,
): Promise<boolean> {
  let zombies = new Set<number>();
  let quiet = 0;
  for (let round = 0; round < rounds; round++) {
    const found = othersIn(pid, level).filter((one) => !keep.has(one));
    const unknown = found.filter((one) => !zombies.has(one));
    quiet = unknown.length === 0 ? quiet + 1 : 0;
    if (quiet > 1) return zombies.size <= maxZombies;
    for (const one of unknown) {
      try {
        process.kill(one, 'SIGKILL');
      } catch {
        // Already ended.
      }
    }
    if (unknown.length > 0) await after(pauseMs);
    zombies = new Set(found.filter(isZombie));
  }
  return false;
}

/** All but the sandbox and the agent in it: the first that the sandbox started. */
function othersIn(pid: number, level: SandboxLevel): number[] {
  const [inside] = childrenOf(pid);
  const agent = level === 'bubblewrap' && inside !== undefined ? childrenOf(inside)[0] : inside;
  return descendantsOf(pid).filter((one) => one !== inside && one !== agent);
}
