import { readFile } from 'node:fs/promises';
import { ConfigError, type Logger } from '@harness/runtime';
import { z } from 'zod';
import { type FollowedFile, followFile } from '../follow-file.ts';
import { LimitsFile } from './tenant-limits.ts';

/**
 * Reads HARNESS_LIMITS_FILE: `{defaults?: Limits, tenants?: {name: Limits & {keys?: {id: Limits}}}}`. Throws ConfigError
 * when the file cannot be read or is not valid.
 */
export async function loadLimits(file: string): Promise<LimitsFile> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new ConfigError(`HARNESS_LIMITS_FILE cannot be read: ${error.message}`);
  });
  try {
    const parsed = LimitsFile.safeParse(JSON.parse(text));
    if (!parsed.success) throw new Error(z.prettifyError(parsed.error));
    return parsed.data;
  } catch (error) {
    throw new ConfigError(`HARNESS_LIMITS_FILE (${file}) is not valid: ${(error as Error).message}`);
  }
}

/** Follows a limits file. `limits` are those read at the start of the process. */
export const followLimitsFile = (
  file: string,
  { limits, logger }: { limits: LimitsFile; logger: Pick<Logger, 'info' | 'error'> },
): FollowedFile<LimitsFile> =>
  followFile(file, { load: loadLimits, initial: limits, what: 'limits', logger });
