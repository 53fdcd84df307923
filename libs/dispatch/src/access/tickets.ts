import { hash, randomBytes } from 'node:crypto';
import { AppError, jsonOf } from '@harness/contracts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['create-ticket', 'redeem-ticket'] });

/** Tickets that count once, at any gateway. Redis has their SHA-256. Every method throws `unavailable`. */
export interface Tickets {
  /**
   * Makes a ticket. `holder`: whose tickets it counts among. Throws `limit_reached` when the holder has too many that are
   * not used.
   */
  create(ticket: { holder: string; content: object; ttlMs: number }): Promise<string>;
  /** The content of a ticket, which is spent with it; undefined for one that is unknown, spent or expired. */
  redeem(ticket: string): Promise<unknown>;
}

const digestOf = (ticket: string) => hash('sha256', ticket, 'hex');

/** Creates them on Redis. */
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
        throw new AppError('limit_reached', 'Too many stream tickets are not used yet. Use them, or wait.', {
          details: { limit: 'streamTickets' },
        });
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
