import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const most = 1_000_000;

/** Limits that no load reaches, so that a figure is the gateway's. They are checked like any others. */
export const unreached = {
  requestsPerSecond: most,
  burst: most,
  concurrentCalls: most,
  streams: most,
  subscriptions: most,
};

/** Writes a limits file; returns its path. It stays in the temporary folder. */
export function writeLimits(tenants: Record<string, object>): string {
  const file = join(mkdtempSync(join(tmpdir(), 'harness-bench-limits-')), 'limits.json');
  writeFileSync(file, JSON.stringify({ defaults: unreached, tenants }));
  return file;
}
