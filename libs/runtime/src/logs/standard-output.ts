import { writeSync } from 'node:fs';
import type { LineOutput } from './line-output.ts';

/** Characters in memory that the reader has not taken yet; further lines are dropped. */
const maxUnwritten = 16 * 1024 * 1024;
/** A full pipe is tried again after this time, ms. */
const retryMs = 5;
/** Longest wait for the reader when the process exits, ms. */
const exitLimitMs = 1_000;

/**
 * Opens standard output, once for a process. Lines are written at once, so that the last ones before an exit are there. A reader that
 * does not read costs lines, not time: they wait in memory, up to 16 MB, and what is dropped beyond that is counted in a
 * warning. pino's own destination would block the process, and with it the leases that it renews.
 */
export function openStandardOutput(): LineOutput {
  void process.stdout; // Node makes a pipe non-blocking when it opens its stream.
  let waiting: string[] = [];
  let current: Buffer = Buffer.alloc(0);
  let unwritten = 0;
  let dropped = 0;
  let retry: NodeJS.Timeout | undefined;

  /** Writes what the reader takes. Returns false when something is left. */
  const drain = (): boolean => {
    try {
      while (unwritten > 0) {
        if (current.length === 0) {
          current = Buffer.from(waiting.join(''));
          waiting = [];
        }
        current = current.subarray(writeSync(1, current));
        if (current.length === 0) unwritten = waiting.reduce((sum, { length }) => sum + length, 0);
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
      // The reader has disconnected: nothing can receive the lines.
      [waiting, current, unwritten] = [[], Buffer.alloc(0), 0];
    }
    return true;
  };
  const add = (lines: string) => {
    waiting.push(lines);
    unwritten += lines.length;
  };
  const drainLater = () => {
    retry ??= setTimeout(() => {
      retry = undefined;
      if (!drain()) return drainLater();
      if (dropped > 0) add(droppedLine(dropped));
      dropped = 0;
      if (!drain()) drainLater();
    }, retryMs).unref();
  };
  const flushSync = () => {
    const until = Date.now() + exitLimitMs;
    const cell = new Int32Array(new SharedArrayBuffer(4));
    while (!drain() && Date.now() < until) Atomics.wait(cell, 0, 0, retryMs);
  };
  process.once('exit', flushSync);
  return {
    write(lines) {
      if (unwritten + lines.length > maxUnwritten) dropped++;
      else add(lines);
      if (!retry && !drain()) drainLater();
    },
    flushSync,
  };
}

const droppedLine = (count: number) =>
  `${JSON.stringify({ level: 40, time: new Date().toISOString(), msg: `standard output was not read in time: ${count} writes of lines were dropped` })}\n`;
