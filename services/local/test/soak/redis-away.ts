import { restartRedis } from '../faults/faults.ts';
import { violationsOf } from '../faults/under-faults.ts';
import { until } from '../faults/until.ts';

/** How long Redis is down during a turn, s. */
const away = [3, 10, 30, 60];

const script = ['persist:', 'call: effects__record {"n":1}', 'sleep: 1000', 'say: 1'].join('\n');

/** A turn of the real Agent SDK while Redis is killed and restarted. Throws unless it succeeds, once. */
export async function soakWithOutages(): Promise<void> {
  for (const seconds of away) {
    const env = { HARNESS_TURN_TIMEOUT_MS: '180000' };
    let backMs = Number.NaN;
    const wrong = await violationsOf({ workers: 2, env, real: true }, async (story) => {
      const work = await story.load({ threads: 2, messages: 1, scriptOf: () => script });
      await until('turns are under way', () => story.effects.read().length >= 2, 30_000);
      await restartRedis(story, seconds * 1_000);
      const startedAt = performance.now();
      await story.settled(work);
      backMs = performance.now() - startedAt;
    });
    if (wrong.length > 0) throw new Error(wrong.join('\n'));
    console.log(
      `Redis away for ${seconds} s: every turn ended once, ${Math.round(backMs)} ms after it was back`,
    );
  }
}
