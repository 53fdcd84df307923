import { type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['draw'] });

/** A token bucket: it holds at most `burst` requests and gains `perSecond`. */
export interface Bucket {
  id: string;
  perSecond: number;
  burst: number;
}

/** The result of a draw. */
export interface Draw {
  /** 0 to `want`. */
  granted: number;
  /** Requests left in the emptiest bucket. */
  remaining: number;
  /** Which of the buckets that is, from 1. */
  emptiest: number;
  /** Time until one request is available, ms; 0 if some were granted. */
  waitMs: number;
}

/** Token buckets that all gateways share. */
export interface RequestBudget {
  /** Takes up to `want` requests from every one of the buckets. Throws `unavailable`. */
  draw(buckets: readonly Bucket[], want: number): Promise<Draw>;
}

/** Creates the buckets on Redis. */
export const createRequestBudget = ({ scripts }: { scripts: Scripts }): RequestBudget => ({
  draw: (buckets, want) => scripts.call<Draw>(lua.draw, { buckets, want }),
});
