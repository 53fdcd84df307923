/**
 * Encloses processes in sandboxes of bubblewrap: own mounts, processes, network and users, a system that they can only read, and
 * no capability. Used by workers for sessions with a workspace, and by gateways for upstreams.
 *
 * - `bubblewrap.ts`         the command of a sandbox
 * - `own-etc.ts`            the files of /etc that a sandbox has of its own
 * - `probe-sandbox.ts`      what this machine permits
 * - `sandbox-users.ts`      a user of the system for each sandbox
 * - `place-executable.ts`   executables where every user can reach them
 * - `scratch-folder.ts`    a folder for what sandboxes need
 * - `process-tree.ts`       the processes below a process
 * - `watch-limits.ts`       memory and disk of a sandbox
 * - `nameless-files.ts`     files that are open and in no folder
 */

export {
  type Box,
  enclose,
  homePath,
  type ProcessLimits,
  type SandboxLevel,
  workspacePath,
} from './bubblewrap.ts';
export { writeOwnEtc } from './own-etc.ts';
export { createExecutablePlace } from './place-executable.ts';
export { type Probed, probeSandbox } from './probe-sandbox.ts';
export { childrenOf, descendantsOf, isZombie } from './process-tree.ts';
export { createSandboxUsers, type SandboxUser, type SandboxUsers } from './sandbox-users.ts';
export { openScratchFolder, removeAll } from './scratch-folder.ts';
export { type SandboxLimits, watchLimits } from './watch-limits.ts';
