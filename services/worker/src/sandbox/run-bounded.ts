import { spawn } from 'node:child_process';
import { childrenOf } from '@harness/sandbox';

/** How a program ended, and what it wrote. */
export interface Ran {
  /** Standard output and standard error, as they came. */
  output: string;
  /** Whether it wrote more, and was ended for it. */
  isCut: boolean;
  /** Undefined: it was killed. */
  exitCode: number | undefined;
}

/** What bounds a program. */
export interface Bounds {
  env: Record<string, string>;
  /** Ends the program. */
  signal: AbortSignal;
  /** Longest output that is kept, bytes. */
  mostBytes: number;
  /** Called with the program's pid; `kill` ends it. Returns the function to call after its end. */
  onStarted(pid: number, kill: () => void): () => void;
}

/**
 * Runs the command of a sandbox without standard input. Resolves when all of its processes have ended. Rejects when it cannot be
 * started.
 */
export async function runBounded([command = '', ...args]: readonly string[], bounds: Bounds): Promise<Ran> {
  const { env, signal, mostBytes, onStarted } = bounds;
  signal.throwIfAborted();
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const ended = new Promise<number | undefined>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? undefined));
  });
  const chunks: Buffer[] = [];
  let bytes = 0;
  let isKilled = false;
  const kill = () => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    isKilled = true;
    killAll(child.pid);
  };
  const take = (chunk: Buffer) => {
    if (bytes > mostBytes) return;
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > mostBytes) kill();
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  signal.addEventListener('abort', kill, { once: true });
  let onEnd = () => {};
  try {
    if (child.pid !== undefined) onEnd = onStarted(child.pid, kill);
    const exitCode = await ended;
    const output = Buffer.concat(chunks).subarray(0, mostBytes).toString('utf8');
    return { output, isCut: bytes > mostBytes, exitCode: isKilled ? undefined : exitCode };
  } finally {
    onEnd();
    signal.removeEventListener('abort', kill);
  }
}

/** Kills a sandbox by its first inner process, with which all others end; before that one exists, by the process group. */
function killAll(pid: number): void {
  const inside = childrenOf(pid);
  for (const one of inside.length > 0 ? inside : [-pid]) {
    try {
      process.kill(one, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
}
