import { hash, randomBytes } from 'node:crypto';
import { AppError, jsonOf } from '@harness/contracts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['create-ticket', 'redeem-ticket'] });

/** One-time tickets, valid at any gateway. Redis has their SHA-256. Every method throws `unavailable`. */
export interface Tickets {
  /**
   * Makes a ticket. `holder`: the principal whose tickets it counts among. Throws `limit_reached` when the holder has too
   * many unused ones.
   */
  create(ticket: { holder: string; content: object; ttlMs: number }): Promise<string>;
  /** Redeems a ticket: returns its content, once. Undefined for one that is unknown, redeemed or expired. */
  redeem(ticket: string): Promise<unknown>;
}

const digestOf = (ticket: string) => hash('sha256', ticket, 'hex');

/** Creates the tickets on Redis. */
export function createTickets({ scripts }: { scripts: Scripts }): Tickets {
  return {
    async create({ holder, content, ttlMs }) {
      const ticket = `hst_${randomBytes(32).toString('base64url')}`;
      const { outcome } = await scripts.call<{ outcome: 'ok' | 'full' }>(lua['create-ticket'], {
        digest: digestOf(ticket),
        holder,
        ttlMs,
        text: jsonOf({ holder, content }),
      });
      if (outcome === 'full')
        throw new AppError(
          'limit_reached',
          'This key has too many unused stream tickets. Open streams with them, or wait until they expire.',
          {
            details: { limit: 'streamTickets' },
          },
        );
      return ticket;
    },
    async redeem(ticket) {
      const { outcome, text = '' } = await scripts.call<{ outcome: 'ok' | 'unknown'; text?: string }>(
        lua['redeem-ticket'],
        { digest: digestOf(ticket) },
      );
      return outcome === 'ok' ? (JSON.parse(text) as { content: unknown }).content : undefined;
    },
  };
}
