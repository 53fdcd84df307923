import { type Dispatch, upstreamTtlMs } from '@harness/dispatch';
import type { Logger } from '@harness/runtime';

/** How often ownership is renewed and looked at, ms. */
export const renewMs = 3_000;

/** Which gateway has an upstream. */
export interface Ownership {
  /** The gateway that has it; undefined until that is known. */
  readonly owner: string | undefined;
  readonly isMine: boolean;
  /** Takes, renews or notices the ownership now. Never rejects. */
  look(): Promise<void>;
  /** Looks no more, and gives the upstream up. Resolves with whether this gateway had it. */
  close(): Promise<boolean>;
}

/** What follows from a look. Each may reject: the next look tries again. */
export interface OwnershipDeps {
  upstream: string;
  dispatch: Pick<Dispatch, 'replicas' | 'upstreamOwners'>;
  logger: Logger;
  /** What must have ended before the first look. */
  after: Promise<unknown> | undefined;
  /** This gateway has the upstream: now, or still. */
  onMine(): void;
  /** Another gateway has it, or may have it by now: Redis did not renew the lease in time. */
  onNotMine(): Promise<void> | undefined;
  /** The owner is known. `isNew`: it was another one before. */
  onOwner(isNew: boolean): Promise<void>;
}

/** Looks at once, and every few seconds from then on: the lease in Redis names one owner. */
export function createOwnership({ upstream, dispatch, logger, ...deps }: OwnershipDeps): Ownership {
  const { replicas, upstreamOwners } = dispatch;
  let owner: string | undefined;
  let renewedAt = Number.NEGATIVE_INFINITY;
  let isClosed = false;
  let looking: Promise<void> | undefined;

  const lookOnce = async () => {
    await deps.after;
    if (isClosed) return;
    const askedAt = performance.now();
    try {
      const before = owner;
      owner = await upstreamOwners.own(upstream);
      if (isClosed) return;
      if (owner === replicas.id) {
        renewedAt = askedAt;
        deps.onMine();
      } else await deps.onNotMine();
      await deps.onOwner(owner !== before);
    } catch (error) {
      logger.debug({ err: error, upstream }, 'upstream: its owner is not known');
      if (performance.now() - renewedAt > upstreamTtlMs) await deps.onNotMine();
    }
  };
  /** At most one look at a time. */
  const look = () => {
    looking ??= lookOnce().finally(() => {
      looking = undefined;
    });
    return looking;
  };
  const timer = setInterval(() => void look(), renewMs).unref();
  void look();
  return {
    get owner() {
      return owner;
    },
    get isMine() {
      return owner === replicas.id;
    },
    look,
    async close() {
      isClosed = true;
      clearInterval(timer);
      await looking;
      await deps.onNotMine();
      if (owner !== replicas.id) return false;
      await upstreamOwners.release(upstream).catch(() => undefined); // it expires anyway
      return true;
    },
  };
}
