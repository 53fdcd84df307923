import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Logger } from '@harness/runtime';
import type { SessionProcess } from '../session/session-options.ts';

/** The leash as the worker uses it (see leash.ts). */
export interface Leash {
  /** From now on the process is killed when this worker stops responding. */
  hold(process: Pick<SessionProcess, 'pid' | 'exited'>): void;
  /** Pid of the leash process; changes when it is restarted. */
  pid(): number | undefined;
  close(): void;
}

const main = fileURLToPath(new URL('./leash.ts', import.meta.url));
/** Heartbeats per limit. */
const beatsPerLimit = 8;
/** Delay before a restart of the leash, ms. */
const restartMs = 500;

/**
 * Starts the leash. `limitMs` must be shorter than the worker's liveness TTL, so that the agents are dead
 * before another worker takes their threads.
 */
export function startLeash({ limitMs, logger }: { limitMs: number; logger: Logger }): Leash {
  const held = new Set<number>();
  let closing = false;
  const start = (): ChildProcess => {
    const started = spawn(process.execPath, [main, String(limitMs)], {
      stdio: ['pipe', 'ignore', 'inherit'],
      detached: true, // a signal to the worker's process group must not end the leash first
      env: {},
    });
    started.stdin?.on('error', () => undefined); // the `close` handler reports it
    started.on('error', (error) => logger.error({ err: error }, 'the leash process cannot be started'));
    started.once('close', (code, signal) => {
      if (closing) return;
      logger.error({ code, signal }, 'the leash process has ended: restarting it');
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
