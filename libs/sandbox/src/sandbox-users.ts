/** A user id of the system without an account, for one sandbox at a time. */
export interface SandboxUser {
  uid: number;
  release(): void;
}

/** Gives users to sandboxes. */
export interface SandboxUsers {
  /** Undefined: this process cannot give one, since it is not root. */
  take(): SandboxUser | undefined;
}

const firstUid = 1_000_000;
/** User ids of one process, more than it has sandboxes: the processes of one machine use different ranges. */
const usersPerProcess = 1_200;
const maxProcesses = 1_000_000;

/**
 * Creates the pool of users. A process that is root gives each sandbox its own user, so that the kernel separates them even outside
 * their sandboxes; any other process cannot, and gives none.
 */
export function createSandboxUsers({ uid = process.getuid?.(), pid = process.pid } = {}): SandboxUsers {
  const first = firstUid + (pid % maxProcesses) * usersPerProcess;
  const taken = new Set<number>();
  return {
    take() {
      if (uid !== 0) return undefined;
      let next = first;
      while (taken.has(next)) next++;
      taken.add(next);
      return { uid: next, release: () => void taken.delete(next) };
    },
  };
}
