import { createHash } from 'node:crypto';

/** Sessions are many and nobody says when one ends: the line unused for longest is forgotten first. */
const linesKept = 10_000;

/** Counts how often each `fail:` line has failed; the only thing this service remembers between requests. */
export function createFailures(limit = linesKept) {
  const counts = new Map<string, number>();
  return {
    /** True `times` times for one line of one session, then false. */
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

export type Failures = ReturnType<typeof createFailures>;
