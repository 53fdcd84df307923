/** What a session may do with tools at this moment: asked by the gateway at every call of a tool (D4). */
import { randomBytes } from 'node:crypto';
import { AppError } from '@harness/contracts';
import type { Redis } from 'ioredis';
import { askTogether } from '../redis/ask-together.ts';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { confirmed: ['narrow'], unconfirmed: ['authority', 'ledger'] });

/** What a session's token says of its thread. */
interface TokenHold {
  threadId: string;
  epoch: number;
  /** workerId#incarnation; absent in tokens of releases before it was written into them. */
  owner?: string | undefined;
}

/**
 * Whether a thread token still speaks for its thread. `idle`: the epoch holds, but no run is under way. `tools`: what is
 * left of them for the rest of the run.
 */
export type Authority =
  | { outcome: 'ok'; runId: string; attempt: number; tools?: readonly string[] | undefined }
  | { outcome: 'idle' }
  | { outcome: 'stale' | 'gone' };

/** Calls to tools that must not run twice, by thread and tool-use id. */
export interface Ledger {
  /** `run`: the first time. `done`: it ended before, with this result. `uncertain`: it began, and nobody knows how it ended. */
  open(
    call: LedgerCall,
  ): Promise<{ outcome: 'run' | 'uncertain' | 'stale' } | { outcome: 'done'; result: string }>;
  close(call: LedgerCall, result: string): Promise<void>;
}
export interface LedgerCall {
  threadId: string;
  epoch: number;
  toolUseId: string;
}

/** The rights of sessions, their tokens' secret, and the ledger of calls that must not run twice. */
export interface ToolAuthority {
  authorityOf(token: TokenHold): Promise<Authority>;
  /** From now to the end of the run its session has of its tools only these. Throws `stale_epoch` when it is over. */
  narrowTools(call: { runId: string; tools: readonly string[] }): Promise<void>;
  ledger: Ledger;
  /** The secret that signs thread tokens: the given one, else one made once and shared through Redis. */
  tokenSecret(given: string | undefined): Promise<string>;
}

/** Throws `unavailable` when Redis does not answer, in every method. */
export function createToolAuthority(deps: { redis: Redis; keys: Keys; scripts: Scripts }): ToolAuthority {
  const { redis, keys, scripts } = deps;
  return {
    authorityOf: askTogether(async (tokens: TokenHold[]) => {
      const { each } = await scripts.call<{ each: Told[] }>(lua.authority, { tokens });
      return each.map(authorityIn);
    }),
    async narrowTools(call) {
      const { outcome } = await scripts.call<{ outcome: 'ok' | 'over' }>(lua.narrow, call);
      if (outcome === 'over') throw new AppError('stale_epoch', 'The run is over.');
    },
    ledger: {
      open: (call) => scripts.call(lua.ledger, call),
      close: async (call, result) => {
        await scripts.call(lua.ledger, { ...call, result });
      },
    },
    async tokenSecret(given) {
      if (given) return given;
      await reached(redis.set(keys.one('secret'), randomBytes(32).toString('base64url'), 'NX'));
      return (await reached(redis.get(keys.one('secret')))) as string;
    },
  };
}

/** As the script answers: the list of tools is JSON text. */
type Told = Authority & { tools?: string };

const authorityIn = (told: Told) =>
  ({ ...told, ...(told.tools && { tools: JSON.parse(told.tools) as string[] }) }) as Authority;
