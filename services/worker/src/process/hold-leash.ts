import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Logger } from '@harness/runtime';
import type { SessionProcess } from '../session/session-options.ts';

export interface Leash {
  /** From now on, and until it exits, the process dies when this worker stops answering. */
  hold(process: Pick<SessionProcess, 'pid' | 'exited'>): void;
  /** Of the leash itself: another, when one has died. */
  pid(): number | undefined;
  close(): void;
}

const main = fileURLToPath(new URL('./leash.ts', import.meta.url));
/** Signs of life within the limit. */
const beatsPerLimit = 8;
/** Before another takes the place of one that died: where none can start, not to try all the time. */
const restartMs = 500;

/** `limitMs` is shorter than the worker's liveness TTL: the agents are dead before another worker takes their threads. */
export function startLeash({ limitMs, logger }: { limitMs: number; logger: Logger }): Leash {
  const held = new Set<number>();
  let closing = false;
  const start = (): ChildProcess => {
    const started = spawn(process.execPath, [main, String(limitMs)], {
      stdio: ['pipe', 'ignore', 'inherit'],
      detached: true, // a signal to the worker's group must not end it first
      env: {},
    });
    started.stdin?.on('error', () => undefined); // its end is reported below
    started.on('error', (error) => logger.error({ err: error }, 'the leash does not start'));
    started.once('close', (code, signal) => {
      if (closing) return;
      logger.error({ code, signal }, 'the leash has ended: another takes its place');
      setTimeout(() => {
        if (!closing) child = start();
      }, restartMs);
    });
    for (const pid of held) started.stdin?.write(`+${pid}\n`);
    return started;
  };
  let child = start();
  const tell = (line: string) => void child.stdin?.write(`${line}\n`);
  const timer = setInterval(() => tell(''), limitMs / beatsPerLimit);
  return {
    hold({ pid, exited }) {
      held.add(pid);
      tell(`+${pid}`);
      void exited.then(() => {
        held.delete(pid);
        tell(`-${pid}`);
      });
    },
    pid: () => child.pid,
    close() {
      closing = true;
      clearInterval(timer);
      child.stdin?.end();
    },
  };
}
