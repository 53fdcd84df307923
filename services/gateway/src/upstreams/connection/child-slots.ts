import { AppError } from '@harness/contracts';

/** A child that may be ended for another one: it serves a thread, and no call is in progress. */
export interface IdleChild {
  /** Since when it has had no call (`performance.now()`). */
  idleSince: number;
  /** Resolves when it has ended. */
  end(): Promise<unknown>;
}

/** Places for the child processes of all upstreams of this gateway. */
export interface ChildSlots {
  /**
   * Takes a place, where there is none that of the child of a thread that was idle longest; returns the function that gives it back.
   * Rejects with `limit_reached`.
   */
  take(): Promise<() => void>;
  /** Offers children that may be ended: `longestIdle` returns one of them. Returns the function that takes the offer back. */
  offer(longestIdle: () => IdleChild | undefined): () => void;
  /** Children that were refused, since the start. */
  readonly refused: number;
  readonly most: number;
}

/** How many children a gateway runs unless it is configured. */
export const defaultChildren = 32;

/** Creates the places, all free. */
export function createChildSlots(most: number = defaultChildren): ChildSlots {
  const offers = new Set<() => IdleChild | undefined>();
  let used = 0;
  let refused = 0;
  return {
    most,
    get refused() {
      return refused;
    },
    async take() {
      while (used >= most) {
        const idle = [...offers].flatMap((longestIdle) => longestIdle() ?? []);
        const [oldest] = idle.sort((one, other) => one.idleSince - other.idleSince);
        if (!oldest) {
          refused += 1;
          throw new AppError(
            'limit_reached',
            `This gateway already runs ${most} child processes of upstreams (HARNESS_UPSTREAM_CHILDREN), all in use.`,
          );
        }
        await oldest.end();
      }
      used += 1;
      let isTaken = true;
      return () => {
        if (isTaken) used -= 1;
        isTaken = false;
      };
    },
    offer(longestIdle) {
      offers.add(longestIdle);
      return () => void offers.delete(longestIdle);
    },
  };
}
