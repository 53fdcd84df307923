import { AppError } from '@harness/contracts';
import type { Principal } from '@harness/plugin-kit';

export interface Places {
  /** Throws `too_many_streams`. The function gives the place back, once. */
  take(owner: Pick<Principal, 'tenant' | 'keyId'>): () => void;
}

/** For streams that stay open: so many in all, and so many of one key, that no key can take them all. */
export function createPlaces({ most, mostOfKey }: { most: number; mostOfKey: number }): Places {
  const taken = new Map<string, number>();
  let all = 0;
  return {
    take({ tenant, keyId }) {
      const key = JSON.stringify([tenant, keyId]);
      const own = taken.get(key) ?? 0;
      if (all >= most || own >= mostOfKey)
        throw new AppError('too_many_streams', 'Too many streams are open.');
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
