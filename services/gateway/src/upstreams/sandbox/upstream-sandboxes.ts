import { accessSync, constants, existsSync, realpathSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { AppError } from '@harness/contracts';
import {
  createExecutablePlace,
  createSandboxUsers,
  enclose,
  homePath,
  openScratchFolder,
  type Probed,
  type ProcessLimits,
  probeSandbox,
  removeAll,
  writeOwnEtc,
} from '@harness/sandbox';
import type { StdioUpstream } from '../file/upstream-config.ts';

/** How a child process is started. */
export interface Launch {
  command: readonly string[];
  /** All of its environment. */
  env: Readonly<Record<string, string>>;
  cwd?: string | undefined;
  /** Called after its end. */
  release(): void;
}

/** The sandboxes of upstreams that ask for one. */
export interface UpstreamSandboxes {
  /** How this machine encloses them, or why it cannot: that is found out again after a while. */
  probed(): Promise<Probed>;
  /** Why there are none; undefined = there are, or none was needed yet. */
  readonly refusal: string | undefined;
  /** How the child of an upstream is started in a sandbox. Rejects with `plugin_unavailable`. */
  launch(upstream: StdioUpstream): Promise<Launch>;
  /** After all children have ended. */
  close(): Promise<void>;
}

const mib = 1024 * 1024;
/** Of each process of a sandbox, and the number of processes. */
const limits: ProcessLimits = {
  processes: 256,
  dataBytes: 4096 * mib,
  fileBytes: 1024 * mib,
  tmpBytes: 256 * mib,
};
/** After this time a machine that had no sandbox is probed again, ms. */
const againMs = 10_000;
const defaultPath = '/usr/local/bin:/usr/bin:/bin';

/** Creates them; nothing is probed before the first is needed. `env`: the gateway's environment, of which children inherit `PATH`. */
export function createUpstreamSandboxes(
  env: Readonly<Record<string, string | undefined>>,
): UpstreamSandboxes {
  const path = env.PATH ?? defaultPath;
  const users = createSandboxUsers();
  let opening: ReturnType<typeof open> | undefined;
  let probing: Promise<Probed> | undefined;
  let refusal: string | undefined;

  const open = async () => {
    const root = await openScratchFolder('harness-gateway');
    return { root, etc: writeOwnEtc(root), place: createExecutablePlace(join(root, 'bin')) };
  };
  const opened = () => {
    opening ??= open();
    return opening;
  };
  const probe = async (): Promise<Probed> => {
    const found = await opened()
      .then(({ root }) => probeSandbox({ root, limits, users, path, wanted: 'auto' }))
      .catch((error: Error): Probed => ({ level: 'none', reason: error.message }));
    refusal = found.level === 'none' ? found.reason : undefined;
    if (found.level === 'none') setTimeout(() => (probing = undefined), againMs).unref(); // it may be installed later
    return found;
  };
  const probed = () => {
    probing ??= probe();
    return probing;
  };
  /** The folder's owner can write to it; a root gateway gives every other child a user of its own. */
  const userOf = async (cwd: string | undefined) => {
    const owner = process.getuid?.() === 0 && cwd !== undefined ? (await stat(cwd)).uid : 0;
    return owner > 0 ? { uid: owner, release: () => undefined } : users.take();
  };

  return {
    probed,
    get refusal() {
      return refusal;
    },
    async launch({ command, args, cwd, env: written, sandbox }) {
      const { level } = await probed();
      if (level === 'none' || sandbox === undefined)
        throw unavailable(`it asks for a sandbox, and this machine has none: ${refusal}`);
      const folder = cwd === undefined ? undefined : resolve(cwd);
      const missing = [...(folder === undefined ? [] : [folder]), ...sandbox.read].find(
        (path) => !existsSync(path),
      );
      if (missing !== undefined) throw unavailable(`there is no ${missing}`);
      const { etc, place } = await opened();
      const writable = folder === undefined ? [] : [folder];
      const visible = [...system, ...writable, ...sandbox.read];
      const found = fileOf(command, path);
      const target = realpathSync(found);
      // Its own name is kept where it can be: some programs find their files by it.
      const executable = isWithin(found, visible) ? found : place(target);
      const own = isWithin(found, visible) ? target : executable;
      const user = await userOf(folder);
      const box = {
        writable,
        readable: isWithin(own, visible) ? sandbox.read : [own, ...sandbox.read],
        cwd: folder,
        hasHome: true,
        hasNetwork: sandbox.network,
        etc,
        limits,
        uid: user?.uid,
      };
      return {
        command: enclose(level, box, [executable, ...args]),
        env: { PATH: path, HOME: homePath, LANG: 'C.UTF-8', ...written },
        cwd: '/',
        release: () => user?.release(),
      };
    },
    async close() {
      const folder = await opening?.catch(() => undefined);
      if (folder) await removeAll(folder.root);
    },
  };
}

const unavailable = (reason: string) =>
  new AppError('plugin_unavailable', `The upstream is not started: ${reason}.`);

/** What every sandbox can read. */
const system = ['/usr', '/bin', '/sbin', '/lib', '/lib64'];

const isWithin = (path: string, folders: readonly string[]) =>
  folders.some((folder) => path === folder || path.startsWith(`${folder.replace(/\/+$/, '')}/`));

/** The file of a command. */
function fileOf(command: string, path: string): string {
  const candidates = command.includes('/')
    ? [resolve(command)]
    : path.split(delimiter).map((folder) => join(folder, command));
  for (const candidate of candidates) {
    try {
      accessSync(candidate, constants.X_OK);
      return candidate;
    } catch {
      // The next one.
    }
  }
  throw unavailable(`the command ${command} is not found`);
}
