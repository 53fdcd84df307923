/** Counts failures. */
import { createHash } from 'node:crypto';

/** Limit of counted lines, because the end of a session is not known. The least recently used line is dropped first. */
const linesKept = 10_000;

/** Counts how often each `fail:` line has failed. This is the only state of the service between requests. */
export function createFailures(limit = linesKept) {
  const counts = new Map<string, number>();
  return {
    /** Returns true `times` times for one line of one session, then false. */
    take(session: string, line: string, times: number): boolean {
      const key = createHash('sha256').update(`${session}\n${line}`).digest('base64');
      const count = counts.get(key) ?? 0;
      counts.delete(key);
      counts.set(key, Math.min(count + 1, times));
      for (const oldest of counts.keys()) {
        if (counts.size <= limit) break;
        counts.delete(oldest);
      }
      return count < times;
    },
  };
}

/** The counter. */
export type Failures = ReturnType<typeof createFailures>;
