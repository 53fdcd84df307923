/** Calls of an upstream since its start at this gateway. Latencies are of the last hundred, ms. */
export interface CallStatistics {
  calls: number;
  failures: number;
  latencyMs: { p50: number; p95: number } | null;
}

const kept = 100;

/** Creates the statistics of one upstream. */
export function createCallStatistics() {
  const last: number[] = [];
  let [calls, failures] = [0, 0];
  return {
    ended(ms: number, isFailure: boolean): void {
      last[calls % kept] = ms;
      calls += 1;
      if (isFailure) failures += 1;
    },
    read(): CallStatistics {
      const sorted = [...last].sort((one, other) => one - other);
      const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0);
      return { calls, failures, latencyMs: sorted.length === 0 ? null : { p50: at(0.5), p95: at(0.95) } };
    },
  };
}
