import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ConfigError } from './config.ts';
import { ended } from './embedded-redis.ts';
import { pdeathsig } from './pdeathsig.ts';

/** A service of the fleet as a child process, which reports over IPC when it is ready. */
export interface Child<Ready> {
  process: ChildProcess;
  ready: Ready;
  /** Resolves when the process has ended, for whatever reason. */
  exited: Promise<void>;
  /** Sends SIGTERM and waits for the end; after `graceMs` sends SIGKILL. */
  end(graceMs: number): Promise<void>;
}

/** What to start, and how. */
export interface ChildOptions {
  /** For error messages. */
  name: string;
  /** Path of its main.ts. */
  main: string;
  env: Record<string, string>;
  args?: string[];
  cwd?: string;
  /** Prints its output to this terminal; otherwise only its end is kept, for the error message. */
  visible?: boolean;
}

/** Environment that makes Node keep its compiled code, so that the next start needs half the CPU time. */
export const compileCache = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../../../node_modules/.cache/node', import.meta.url)),
};
const readyLimitMs = 60_000;
const keptChars = 4_000;

/**
 * Starts a child and waits until it is ready (at most 60 s). It has its own process group, so that Ctrl-C
 * reaches only the supervisor, which ends the children in order. If the supervisor is killed, the kernel
 * (Linux) or the closed IPC channel ends the child.
 * Throws ConfigError with the end of the child's output when it does not become ready.
 */
export async function startChild<Ready>(options: ChildOptions): Promise<Child<Ready>> {
  const [command, ...args] = [...pdeathsig(), process.execPath, options.main, ...(options.args ?? [])];
  const child = spawn(command as string, args, {
    env: { ...compileCache, ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true,
  });
  let lastWords = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      lastWords = (lastWords + text).slice(-keptChars);
      if (options.visible) process.stdout.write(text);
    });
  }
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const fail = (why: string) => new ConfigError(`${options.name} ${why}.\n${lastWords.trim()}`);
  const ready = await new Promise<Ready>((resolve, reject) => {
    const late = setTimeout(() => {
      child.kill('SIGKILL');
      reject(fail('was not ready in time'));
    }, readyLimitMs);
    child.once('message', (message) => resolve(message as Ready));
    child.once('error', (error) => reject(fail(`could not be started: ${error.message}`)));
    child.once('close', (code, signal) => reject(fail(`ended with ${code ?? signal} before it was ready`)));
    void exited.then(() => clearTimeout(late));
    child.once('message', () => clearTimeout(late));
  });
  return { process: child, ready, exited, end: (graceMs) => ended(child, 'SIGTERM', graceMs) };
}
