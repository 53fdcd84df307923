import { lchownSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SpawnOptions } from '@anthropic-ai/claude-agent-sdk';
import { createGate } from '@harness/dispatch';
import type { Logger } from '@harness/runtime';
import {
  descendantsOf,
  enclose,
  type ProcessLimits,
  type SandboxLevel,
  type SandboxLimits,
  type SandboxUser,
  watchLimits,
  writeOwnEtc,
} from '@harness/sandbox';
import type { SessionHome } from '../session/session-home.ts';
import type { RunInSandbox } from './embedded-commands.ts';
import { type EgressProxy, type EgressRules, openEgressProxy } from './proxies/egress-proxy.ts';
import type { ModelProxies } from './proxies/model-proxy.ts';
import { runBounded } from './run-bounded.ts';
import { killStrays } from './strays.ts';

/** The sandbox of one session. */
export interface Enclosure {
  /** Variables in place of those that hold credentials. */
  readonly env: Readonly<Record<string, string>>;
  /** The command that starts the session in its sandbox. */
  commandOf(options: Pick<SpawnOptions, 'command' | 'args' | 'env'>): string[];
  /** Called with the sandbox's first process; `kill` ends the session with a reason. */
  started(pid: number, kill: (reason: string) => void): void;
  /** The session may use the model from now on. */
  beginTurn(): void;
  /** Ends that, and the processes that tools left running. Resolves with false when some could not be ended: the session must end. */
  endTurn(): Promise<boolean>;
  /**
   * Runs a program beside the session, in a sandbox like its own: during a turn only, one at a time. Rejects when it cannot be
   * started.
   */
  readonly run: RunInSandbox;
  /** Ends the program that `run` runs; resolves when it has ended. */
  stopRuns(): Promise<void>;
  /** The owner of its files; absent: the worker's user. */
  readonly owner?: { uid: number; gid: number } | undefined;
  /** Deletes what belongs to the sandbox. Call it after its processes have ended. */
  close(): Promise<void>;
}

/** What enclosures are made from. */
export interface EnclosureParts {
  level: SandboxLevel;
  proxies: ModelProxies;
  /** A folder that every user may enter, for sockets and files of all sandboxes. */
  root: string;
  /** Hosts that sandboxes reach; empty = none. */
  egress: EgressRules;
  logger: Logger;
  /** The environment's PATH. */
  path: string;
  /** Returns a path of the executable that the session's user can reach. */
  place(executable: string): string;
  modelVariables: Readonly<Record<string, string>>;
  limits: ProcessLimits & SandboxLimits;
}

/** The variable by which a session without a network reaches the model; the Agent SDK does not document it, so a test checks it. */
const socketVariable = 'ANTHROPIC_UNIX_SOCKET';
/** This name is never resolved: requests go to the socket. */
const modelUrl = 'http://model.invalid';
/** Limits of the agent's shell tool: the output that it keeps, characters, and the time of a command, ms. */
const shellLimits = {
  BASH_MAX_OUTPUT_LENGTH: '30000',
  BASH_DEFAULT_TIMEOUT_MS: '120000',
  BASH_MAX_TIMEOUT_MS: '600000',
};

/** The session that a sandbox is for. */
export interface EnclosureOf {
  home: SessionHome;
  /** The folder with the files of its tenant's skills. */
  skills?: string | undefined;
}

/** The port of the forwarder; the same in every sandbox, since each has a network of its own. */
const egressPort = 3128;
const egressUrl = `http://127.0.0.1:${egressPort}`;
const egressVariables = {
  HTTPS_PROXY: egressUrl,
  HTTP_PROXY: egressUrl,
  https_proxy: egressUrl,
  http_proxy: egressUrl,
  NO_PROXY: 'localhost,127.0.0.1,model.invalid',
  no_proxy: 'localhost,127.0.0.1,model.invalid',
};
/** The forwarder: Node and its script. */
const forwarding = [process.execPath, fileURLToPath(new URL('proxies/egress-forward.mjs', import.meta.url))];

/** Starts the forwarder beside the session, which stays the first process. */
const withForwarder = (
  forwarder: readonly string[],
  { socketPath }: EgressProxy,
  session: readonly string[],
) => [
  ...['sh', '-c', '"$1" "$2" "$3" "$4" > /dev/null 2>&1 & shift 4; exec "$@"', 'sh'],
  ...[...forwarder, socketPath, String(egressPort), ...session],
];

/** Waits until the forwarder listens, at most 5 s. */
const waiting = `for try in {1..250}; do (exec 3<>/dev/tcp/127.0.0.1/${egressPort}) 2> /dev/null && break; sleep 0.02; done; exec "$@"`;
const withWaiting = (program: readonly string[]) => ['bash', '-c', waiting, 'bash', ...program];

/** Creates the sandbox of a session. `name` is unique in this process and short: the path of a socket has 107 bytes. */
export async function openEnclosure(
  { name, home, user, skills }: EnclosureOf & { name: string; user: SandboxUser | undefined },
  parts: EnclosureParts,
): Promise<Enclosure> {
  const { level, limits } = parts;
  const folder = join(parts.root, name);
  mkdirSync(folder, { mode: 0o711 });
  const etc = writeOwnEtc(folder);
  const sockets = join(folder, 's');
  mkdirSync(sockets, { mode: 0o700 });
  const proxy = await parts.proxies.create(join(sockets, 'model'));
  const egress =
    parts.egress.hosts.length > 0
      ? await openEgressProxy(join(sockets, 'net'), parts.egress, parts.logger)
      : undefined;
  const own = (path: string) => {
    if (user) chownAll(path, user.uid);
  };
  own(sockets);
  own(home.root);
  const agentFolders = [join(home.root, 'home')];
  let first: number | undefined;
  let unwatch = () => {};
  let ownProcesses: ReadonlySet<number> | undefined;
  const wayOut = egress ? forwarding.map(parts.place) : [];
  const enclosed = (readable: readonly string[], command: readonly string[]) => {
    const box = {
      writable: agentFolders,
      readable: [...readable, sockets, ...wayOut],
      workspace: home.cwd,
      skills,
      etc,
      limits,
      uid: user?.uid,
    };
    return enclose(level, box, egress ? withForwarder(wayOut, egress, command) : command);
  };
  const runs = createRuns();
  return {
    env: {
      ...parts.modelVariables,
      ...shellLimits,
      [socketVariable]: proxy.socketPath,
      ANTHROPIC_BASE_URL: modelUrl,
      ANTHROPIC_API_KEY: proxy.key,
      ...(egress && egressVariables),
    },
    commandOf({ command, args, env }) {
      const executable = parts.place(command);
      // The SDK puts a resumed transcript into a folder of its own.
      const config = env.CLAUDE_CONFIG_DIR;
      if (config && !config.startsWith(home.root)) {
        own(config);
        agentFolders.push(config);
      }
      return enclosed([executable], [executable, ...args]);
    },
    started(pid, kill) {
      first = pid;
      unwatch = watchLimits({ pid, workspace: home.cwd, own: agentFolders }, limits, kill);
    },
    beginTurn() {
      runs.open();
      // Before the first turn no process in the sandbox can have been started by a model.
      if (first !== undefined) ownProcesses ??= new Set(descendantsOf(first));
      proxy.open();
      egress?.open();
    },
    run: (command, { env, signal, mostBytes }) =>
      runs.run((stopped) =>
        runBounded(enclosed([], egress ? withWaiting(command) : command), {
          env: { ...env, PATH: parts.path, HOME: home.env.HOME ?? '', ...(egress && egressVariables) },
          signal: AbortSignal.any([signal, stopped]),
          mostBytes,
          onStarted: (pid, kill) =>
            watchLimits({ pid, workspace: home.cwd, own: agentFolders }, limits, kill),
        }),
      ),
    stopRuns: runs.stop,
    async endTurn() {
      proxy.shut();
      egress?.shut();
      await runs.stop();
      return first === undefined || killStrays(first, level, ownProcesses ?? new Set());
    },
    owner: user && { uid: user.uid, gid: user.uid },
    async close() {
      unwatch();
      await runs.stop();
      await Promise.all([proxy.close(), egress?.close()]);
      user?.release();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Runs programs beside a session, one at a time, while a turn is in progress. */
function createRuns() {
  const gate = createGate(1);
  let stopping = AbortSignal.abort();
  let stop = () => {};
  const running = new Set<Promise<unknown>>();
  return {
    open() {
      if (!stopping.aborted) return;
      const controller = new AbortController();
      stopping = controller.signal;
      stop = () => controller.abort(new Error('no turn is in progress'));
    },
    run<T>(start: (stopped: AbortSignal) => Promise<T>): Promise<T> {
      const stopped = stopping;
      const one = gate(() => start(stopped));
      const ended = one.catch(() => undefined).finally(() => running.delete(ended));
      running.add(ended);
      return one;
    },
    async stop() {
      stop();
      await Promise.all(running);
    },
  };
}

/** Links are not followed: what is in a workspace is not trusted. */
function chownAll(path: string, uid: number): void {
  lchownSync(path, uid, uid);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) chownAll(child, uid);
    else lchownSync(child, uid, uid);
  }
}
