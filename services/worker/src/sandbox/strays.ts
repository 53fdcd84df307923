import { setTimeout as after } from 'node:timers/promises';
import { childrenOf, descendantsOf, isZombie, type SandboxLevel } from '@harness/sandbox';

/** Most rounds of kills: a process that starts others may need several. */
const rounds = 20;
const pauseMs = 10;
/** Without a /proc of its own a sandbox has no process that reaps orphans, and zombies count towards its limit of processes. */
const maxZombies = 32;

/**
 * Kills processes that tools left running (strays), so that nothing changes the workspace while its version is taken. `pid`: the
 * sandbox's first process; `keep`: processes that no tool started. Returns false when some could not be killed, or when there are
 * too many zombies: then the session must end.
 *
 * A stray may start another process and end during a scan. So none is left only when two scans in a row find no process but the
 * agent and zombies that the scan before has found: a process that was reparented during one scan is found by the next.
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

/** All processes but the sandbox and the agent, which is the first process that the sandbox started. */
function othersIn(pid: number, level: SandboxLevel): number[] {
  const [inside] = childrenOf(pid);
  const agent = level === 'bubblewrap' && inside !== undefined ? childrenOf(inside)[0] : inside;
  return descendantsOf(pid).filter((one) => one !== inside && one !== agent);
}
