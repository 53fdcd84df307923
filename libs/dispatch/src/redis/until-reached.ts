import { setTimeout } from 'node:timers/promises';
import { toAppError } from '@harness/contracts';

const retryMs = 500;

/**
 * What a call came to must not be lost because Redis is away for a time: repeats a step that may be repeated until it
 * arrives. Throws what the step throws, once `isOver`, or when to repeat it is of no use.
 */
export async function untilReached<T>(step: () => Promise<T>, isOver: () => boolean): Promise<T> {
  for (;;) {
    try {
      return await step();
    } catch (thrown) {
      if (isOver() || !toAppError(thrown).retry) throw thrown;
      await setTimeout(retryMs, undefined, { ref: false });
    }
  }
}
