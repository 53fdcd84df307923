import { AppError } from '@harness/contracts';
import type { RequestBudget } from '@harness/dispatch';
import type { CallerLimits, Holder, TenantLimits } from './tenant-limits.ts';

/** The budget of a request's key, after the request. */
export interface RateStanding {
  /** Most requests at once. */
  burst: number;
  /** Seconds in which an empty budget fills. */
  window: number;
  /** Requests left now, approximately. */
  remaining: number;
}

/** Requests per second of keys and tenants, over all gateways. */
export interface RequestRate {
  /**
   * Takes one request from the holder's budget. Returns a promise only when Redis must be asked: once for up to 100 ms'
   * worth of requests. Throws `rate_limited`.
   */
  take(holder: Holder): RateStanding | Promise<RateStanding>;
}

/** What this gateway has drawn for one key. */
interface Share {
  /** Requests drawn and not yet used. */
  left: number;
  /** What remained in the emptiest budget at the last draw, and whose that is. */
  remaining: number;
  emptiest: 'tenant' | 'key';
  /** The limits of the last draw, and when it was, ms since 1970. */
  limits: CallerLimits | undefined;
  drawnAt: number;
  /** The budget is empty until then, ms since 1970. */
  emptyUntil: number;
  drawing: Promise<void> | undefined;
  usedAt: number;
}

/** A drawn request is used within this time, ms. */
const freshMs = 1_000;
/** Worth of a draw, seconds. */
const drawSeconds = 0.1;
/** A share unused for this time is forgotten, with the few requests that it still has, ms. */
const idleMs = 60_000;

/** Creates the rates of one gateway. Without Redis, each gateway grants the rate by itself. */
export function createRequestRate(deps: { budget: RequestBudget; limits: TenantLimits }): RequestRate {
  const { budget, limits } = deps;
  const shares = new Map<string, Share>();
  let tidiedAt = Date.now();

  const removeOld = (now: number) => {
    if (now - tidiedAt < idleMs) return;
    tidiedAt = now;
    for (const [id, { usedAt }] of shares) if (now - usedAt > idleMs) shares.delete(id);
  };
  const shareOf = ({ id }: CallerLimits, now: number): Share => {
    const known = shares.get(id);
    if (known) {
      known.usedAt = now;
      return known;
    }
    removeOld(now);
    const share: Share = {
      left: 0,
      remaining: 0,
      emptiest: 'key',
      limits: undefined,
      drawnAt: 0,
      emptyUntil: 0,
      drawing: undefined,
      usedAt: now,
    };
    shares.set(id, share);
    return share;
  };

  const draw = async (holder: Holder, share: Share): Promise<void> => {
    const current = limits.of(holder);
    const { tenant, key } = current;
    const want = Math.max(
      1,
      Math.floor(Math.min(tenant.requestsPerSecond, key.requestsPerSecond) * drawSeconds),
    );
    const buckets = [
      { id: holder.tenant, perSecond: tenant.requestsPerSecond, burst: tenant.burst },
      { id: current.id, perSecond: key.requestsPerSecond, burst: key.burst },
    ];
    const wait = drawSeconds * 1000;
    const { granted, remaining, emptiest, waitMs } = await budget
      .draw(buckets, want)
      .catch(() => ({ granted: want, remaining: 0, emptiest: 2, waitMs: wait }));
    share.left += granted;
    share.remaining = remaining;
    share.emptiest = emptiest === 1 ? 'tenant' : 'key';
    share.limits = current;
    share.drawnAt = Date.now();
    share.emptyUntil = Date.now() + waitMs;
  };

  const standingOf = (current: CallerLimits, share: Share): RateStanding => {
    const { requestsPerSecond, burst } = current[share.emptiest];
    return { burst, window: Math.ceil(burst / requestsPerSecond), remaining: share.left + share.remaining };
  };

  const takeAfterDraw = async (holder: Holder, share: Share): Promise<RateStanding> => {
    while (share.left === 0) {
      const waitMs = share.emptyUntil - Date.now();
      if (waitMs > 0) throw refusalOf(standingOf(limits.of(holder), share), waitMs);
      share.drawing ??= draw(holder, share).finally(() => {
        share.drawing = undefined;
      });
      await share.drawing;
    }
    share.left--;
    return standingOf(limits.of(holder), share);
  };

  return {
    take(holder) {
      const current = limits.of(holder);
      const now = Date.now();
      const share = shareOf(current, now);
      // Requests drawn under other limits, or long ago, are discarded: a lower limit applies immediately.
      const isOther = share.limits !== current;
      if (isOther || now - share.drawnAt > freshMs) share.left = 0;
      if (isOther) share.emptyUntil = 0;
      if (share.left === 0) return takeAfterDraw(holder, share);
      share.left--;
      return standingOf(current, share);
    },
  };
}

function refusalOf({ burst, window }: RateStanding, retryAfterMs: number): AppError {
  const message =
    'This key or its tenant sends too many requests. Wait for the seconds in Retry-After, then send again.';
  return new AppError('rate_limited', message, {
    details: { limit: 'requestsPerSecond', burst, window },
    retryAfterMs,
  });
}
