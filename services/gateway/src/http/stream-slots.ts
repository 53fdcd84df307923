import { AppError } from '@harness/contracts';
import type { Principal } from '@harness/plugin-kit';

/** Slots for open streams. */
export interface StreamSlots {
  /**
   * Takes a slot; returns the function that gives it back (repeated calls have no effect). Throws
   * `too_many_streams`.
   */
  take(owner: Pick<Principal, 'tenant' | 'keyId'>): () => void;
}

/**
 * Creates the slots: at most `most` in total, and `mostOfKey` for one key, so that no key can take them all.
 */
export function createStreamSlots({ most, mostOfKey }: { most: number; mostOfKey: number }): StreamSlots {
  const taken = new Map<string, number>();
  let all = 0;
  return {
    take({ tenant, keyId }) {
      const key = JSON.stringify([tenant, keyId]);
      const own = taken.get(key) ?? 0;
      if (all >= most || own >= mostOfKey)
        throw new AppError('too_many_streams', 'Too many streams are open. Close one, or try again later.');
      all++;
      taken.set(key, own + 1);
      let isBack = false;
      return () => {
        if (isBack) return;
        isBack = true;
        all--;
        const others = (taken.get(key) ?? 1) - 1;
        if (others > 0) taken.set(key, others);
        else taken.delete(key);
      };
    },
  };
}
