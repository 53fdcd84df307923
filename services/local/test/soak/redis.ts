import { failOverRedis } from '../faults/redis-fail-overs.ts';
import type { SoakOptions } from './soak-options.ts';

/** Fail-overs of Redis under load, with and without acks. Throws when a promise is broken. */
export async function soakWithFailOvers({ runs = 20 }: SoakOptions): Promise<void> {
  for (const acks of [1, 0]) {
    const { accepted, lost, reported, changes, wrong, acceptMs } = await failOverRedis({ times: runs, acks });
    const sorted = acceptMs.toSorted((one, other) => one - other);
    const [p50, worst] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
    console.log(
      `acks ${acks}: ${runs} fail-overs, ${accepted} messages accepted, ${lost} lost, ${reported} of them reported, ${changes} changes detected; accepts again after ${p50} ms (p50), ${worst} ms (worst)`,
    );
    if (wrong.length > 0) throw new Error(wrong.join('\n'));
    if (reported !== lost || (acks > 0 && lost > 0))
      throw new Error('A lost message was not reported, or nothing should have been lost.');
  }
}
