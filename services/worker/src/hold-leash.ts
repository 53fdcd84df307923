import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Logger } from '@harness/runtime';
import type { SessionProcess } from './session-options.ts';

export interface Leash {
  /** From now on, and until it exits, the process dies when this worker stops answering. */
  hold(process: SessionProcess): void;
  close(): void;
}

const main = fileURLToPath(new URL('./leash.ts', import.meta.url));
/** Signs of life within the limit. */
const beatsPerLimit = 8;

/** `limitMs` is shorter than the worker's liveness TTL: the agents are dead before another worker takes their threads. */
export function startLeash({ limitMs, logger }: { limitMs: number; logger: Logger }): Leash {
  const child = spawn(process.execPath, [main, String(limitMs)], {
    stdio: ['pipe', 'ignore', 'inherit'],
    detached: true, // a signal to the worker's group must not end it first
    env: {},
  });
  let closing = false;
  child.stdin.on('error', () => undefined); // its end is reported below
  child.once('exit', (code, signal) => {
    if (!closing)
      logger.error({ code, signal }, 'the leash has ended: a stopped worker would leave its agents running');
  });
  const timer = setInterval(() => child.stdin.write('\n'), limitMs / beatsPerLimit);
  return {
    hold({ pid, exited }) {
      child.stdin.write(`+${pid}\n`);
      void exited.then(() => child.stdin.write(`-${pid}\n`));
    },
    close() {
      closing = true;
      clearInterval(timer);
      child.stdin.end();
    },
  };
}
