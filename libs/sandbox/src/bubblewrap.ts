import { existsSync, lstatSync } from 'node:fs';

/**
 * How sessions are enclosed. `bubblewrap`: in namespaces of their own, with their own /proc. `bubblewrap-bound-proc`: the same
 * where mounting a new /proc is not permitted, as in most containers: of /proc the session sees its own process only.
 */
export type SandboxLevel = 'bubblewrap' | 'bubblewrap-bound-proc';

/** Where the workspace is for the session, in every process: a conversation that moves finds the paths it has seen. */
export const workspacePath = '/workspace';
/** Where a home in memory is. */
export const homePath = '/home/agent';
/** Where the folders of skills are for the session, each under its name; instructions name files with it. */
const skillsPath = '/skills';

/** What a sandbox consists of. Paths are those of the worker. */
export interface Box {
  /** Folders it may change, at the same paths. */
  writable: readonly string[];
  /** Files and folders it may read, at the same paths. */
  readable: readonly string[];
  /** The folder of the workspace; absent: an empty one in memory. */
  workspace?: string | undefined;
  /** Where it starts. Default: in the workspace. */
  cwd?: string | undefined;
  /** Whether it has a home of its own in memory, `homePath`. */
  hasHome?: boolean;
  /** Whether it has the network of the machine. Default: none. */
  hasNetwork?: boolean;
  /** A folder with those of skills. */
  skills?: string | undefined;
  /** Own copies of files below /etc: name to path. */
  etc: Readonly<Record<string, string>>;
  limits: ProcessLimits;
  /** The user that the worker gives to this session; absent: its own. */
  uid?: number | undefined;
}

/** Limits of each process in a sandbox. */
export interface ProcessLimits {
  processes: number;
  /** Memory of one process, bytes. */
  dataBytes: number;
  /** Size of one file, bytes. */
  fileBytes: number;
  /** /tmp and /dev/shm, in memory, bytes each. */
  tmpBytes: number;
}

/** The user and group that a sandbox has inside. */
export const insideId = '1000';
/** When the machine is out of memory, the kernel kills agents before the worker. */
const oomScore = '500';
/** Folders of the system that are links to /usr on most systems. */
const systemFolders = ['bin', 'lib', 'lib64', 'sbin'];
/** What programs read below /etc, where it exists; nothing of it is secret. */
const readableEtc = [
  'alternatives',
  'ld.so.cache',
  'localtime',
  'mime.types',
  'ssl/certs',
  'ca-certificates',
];
/** Files of the machine's /proc that a sandbox gets where it cannot mount its own; `self` is added. */
const readableProc = ['cpuinfo', 'filesystems', 'loadavg', 'meminfo', 'stat', 'uptime', 'version'];

/** The command that runs `command` in the sandbox. */
export function enclose(level: SandboxLevel, box: Box, command: readonly string[]): string[] {
  const { uid } = box;
  const user = uid === undefined ? [] : [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
  // In one call, since a change of the user clears the signal.
  return [
    'setpriv',
    ...user,
    '--pdeathsig',
    'KILL',
    'choom',
    '-n',
    oomScore,
    '--',
    'bwrap',
    ...argumentsOf(level, box),
    '--',
    ...limited(box.limits),
    ...command,
  ];
}

/** Limits that are set inside the sandbox, where processes of the same user outside do not count. */
const limited = ({ processes, dataBytes, fileBytes }: ProcessLimits) => [
  'prlimit',
  `--nproc=${processes}`,
  `--data=${dataBytes}`,
  `--fsize=${fileBytes}`,
  '--core=0',
  '--',
];

function argumentsOf(
  level: SandboxLevel,
  { writable, readable, workspace, skills, etc, limits, ...box }: Box,
): string[] {
  const ofNetwork = box.hasNetwork
    ? ['--share-net', '--ro-bind-try', '/etc/resolv.conf', '/etc/resolv.conf']
    : [];
  return [
    ...['--unshare-user', '--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
    ...(level === 'bubblewrap' ? ['--disable-userns'] : ['--as-pid-1']),
    ...['--uid', insideId, '--gid', insideId, '--hostname', 'sandbox'],
    ...['--ro-bind', '/usr', '/usr', ...systemFolders.flatMap(systemFolder)],
    ...readableEtc.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ...ofNetwork,
    ...Object.entries(etc).flatMap(([name, path]) => ['--ro-bind', path, `/etc/${name}`]),
    ...(level === 'bubblewrap' ? ['--proc', '/proc'] : boundProc()),
    ...[
      '--dev',
      '/dev',
      ...inMemory('/dev/shm', limits),
      '--remount-ro',
      '/dev',
      ...inMemory('/tmp', limits),
    ],
    ...(box.hasHome ? inMemory(homePath, limits) : []),
    ...readable.flatMap((path) => ['--ro-bind', path, path]),
    ...writable.flatMap((path) => ['--bind', path, path]),
    ...(skills === undefined ? [] : ['--ro-bind', skills, skillsPath]),
    ...(workspace === undefined ? inMemory(workspacePath, limits) : ['--bind', workspace, workspacePath]),
    ...['--chdir', box.cwd ?? workspacePath, '--remount-ro', '/'],
  ];
}

/** Without a size such a folder takes half of the machine's memory. */
const inMemory = (path: string, { tmpBytes }: ProcessLimits) => ['--size', String(tmpBytes), '--tmpfs', path];

/** Bound by the process that becomes the session, so that /proc/self is that process; it needs `--as-pid-1`. */
const boundProc = () => [
  ...['--tmpfs', '/proc', '--ro-bind', '/proc/self', '/proc/self'],
  ...readableProc.flatMap((name) => ['--ro-bind-try', `/proc/${name}`, `/proc/${name}`]),
];

function systemFolder(name: string): string[] {
  const path = `/${name}`;
  if (!existsSync(path)) return [];
  return lstatSync(path).isSymbolicLink() ? ['--symlink', `usr/${name}`, path] : ['--ro-bind', path, path];
}
