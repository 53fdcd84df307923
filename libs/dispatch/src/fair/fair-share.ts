/**
 * Shares the turns of the fleet among tenants. A doorbell of the `assign` queue means that some thread wants a turn; which
 * one gets it is decided here when a worker has a slot. So a tenant with a thousand waiting threads delays another's
 * first turn by one turn at most.
 *
 *   fair.lua          the lists of waiting threads (shared definitions)
 *   want.lua, next-wanted.lua, others-wait.lua  scripts of this file
 */
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['want', 'next-wanted', 'others-wait'] });

/** Which thread gets the next turn. Every method throws `unavailable` when Redis does not answer. */
export interface FairShare {
  /** Lists an unowned thread; a repeat keeps its position. */
  want(threadId: string): Promise<void>;
  /**
   * Takes the next thread off the lists. `threadId`: the thread whose doorbell was received; it is returned when the
   * lists are empty, or undefined if it has an owner by now.
   */
  next(threadId: string): Promise<string | undefined>;
  /** Whether a tenant other than the thread's waits for a slot. */
  othersWait(threadId: string): Promise<boolean>;
}

/** Creates the share on Redis. */
export const createFairShare = ({ scripts }: { scripts: Scripts }): FairShare => ({
  async want(threadId) {
    await scripts.call(lua.want, { threadId });
  },
  async next(threadId) {
    const args = { threadId };
    return (await scripts.call<{ threadId?: string }>(lua['next-wanted'], args)).threadId;
  },
  async othersWait(threadId) {
    return (
      (await scripts.call<{ outcome: 'yes' | 'no' }>(lua['others-wait'], { threadId })).outcome === 'yes'
    );
  },
});
