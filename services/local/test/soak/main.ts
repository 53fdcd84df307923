/**
 * `npm run soak -- [name] [--minutes N] [--runs N]`: long runs of what tests do for seconds. Ends at the first broken
 * promise.
 */
import { parseArgs } from 'node:util';
import { soakWithConsole } from './console.ts';
import { soakWithFuzz } from './fuzz.ts';
import { soakWithFaults } from './random-faults.ts';
import { soakWithFailOvers } from './redis.ts';
import { soakWithOutages } from './redis-away.ts';
import type { SoakOptions } from './soak-options.ts';

const soaks: Record<string, (options: SoakOptions) => Promise<void>> = {
  console: soakWithConsole,
  faults: soakWithFaults,
  fuzz: soakWithFuzz,
  redis: soakWithFailOvers,
  'redis-away': soakWithOutages,
};

const { values, positionals } = parseArgs({
  options: { minutes: { type: 'string' }, runs: { type: 'string' } },
  allowPositionals: true,
});
const [name = 'faults'] = positionals;
const soak = soaks[name];
if (!soak) {
  console.error(`There is no soak "${name}"; there are ${Object.keys(soaks).join(', ')}.`);
  process.exit(1);
}
const numberOf = (text: string | undefined) => (text === undefined ? undefined : Number(text));
try {
  await soak({ minutes: numberOf(values.minutes), runs: numberOf(values.runs) });
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
