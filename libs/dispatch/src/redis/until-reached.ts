import { setTimeout } from 'node:timers/promises';
import { toAppError } from '@harness/contracts';

const retryMs = 500;

/**
 * Repeats a step while Redis is unavailable, so that the result of a call is not lost; the step must be safe
 * to repeat. Throws the step's error once `isOver` returns true, or when the error shows that a repeat is
 * useless.
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
