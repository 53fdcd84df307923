import { openSync } from 'node:fs';
import { pino } from 'pino';
import { ConfigError } from '../config.ts';

/** Where whole lines are written: standard output, or a file. Writing never throws. */
export interface LineOutput {
  write(lines: string): void;
  /** Writes what is still in memory. */
  flushSync(): void;
}

/** Lines in memory that the disk has not taken yet, characters; further ones are dropped. */
const maxUnwritten = 16 * 1024 * 1024;

/**
 * Opens a file to append to; writing to it does not block. Throws ConfigError, with the variable that names the file, when
 * it cannot be opened. `onTrouble`: a write failed, or lines were dropped.
 */
export function openLineFile(
  [variable, path]: [variable: string, path: string],
  onTrouble: (error: Error) => void,
): LineOutput {
  let fd: number;
  try {
    fd = openSync(path, 'a', 0o600);
  } catch (error) {
    throw new ConfigError(`${variable}: ${path} cannot be written: ${(error as Error).message}`);
  }
  const output = pino.destination({ fd, sync: false, maxLength: maxUnwritten });
  output.on('error', onTrouble);
  output.on('drop', () => onTrouble(new Error('the disk is too slow: lines were dropped')));
  return output;
}
