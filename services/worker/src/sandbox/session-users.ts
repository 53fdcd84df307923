/** A user of the system that no account has, for one session at a time. */
export interface SessionUser {
  uid: number;
  release(): void;
}

const firstUid = 1_000_000;
/** More than a worker has sessions, so that workers of one machine use different ones. */
const usersPerWorker = 1_200;
const maxWorkers = 1_000_000;

/**
 * Creates the giver of users. A worker that is root gives each session its own, so that the kernel keeps them apart even outside
 * their sandboxes; any other worker cannot, and gives none.
 */
export function createSessionUsers({ uid = process.getuid?.(), pid = process.pid } = {}) {
  const first = firstUid + (pid % maxWorkers) * usersPerWorker;
  const taken = new Set<number>();
  return {
    take(): SessionUser | undefined {
      if (uid !== 0) return undefined;
      let next = first;
      while (taken.has(next)) next++;
      taken.add(next);
      return { uid: next, release: () => void taken.delete(next) };
    },
  };
}
