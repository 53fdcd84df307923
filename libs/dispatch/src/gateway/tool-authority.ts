/** What a session may do with tools at this moment: read by the gateway at every tool call (D4). */
import { AppError } from '@harness/contracts';
import { batchQueries } from '../redis/batch-queries.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { confirmed: ['narrow'], unconfirmed: ['authority', 'ledger'] });

/** The claims of a session's token that are checked. */
interface TokenHold {
  threadId: string;
  epoch: number;
  /** workerId#incarnation; absent in tokens of earlier releases. */
  owner?: string | undefined;
}

/**
 * Whether a thread token is still valid for its thread. `idle`: the epoch matches, but no run is in progress.
 * `stale`: the thread has another owner or epoch, or its owner is dead. `gone`: the thread was deleted.
 * `scopes`, `tools`: what the run was narrowed to, if it was.
 */
export type Authority =
  | {
      outcome: 'ok';
      runId: string;
      attempt: number;
      scopes?: readonly string[] | undefined;
      tools?: readonly string[] | undefined;
      /** The span of the turn, if it is traced. */
      trace?: string | undefined;
    }
  | { outcome: 'idle' }
  | { outcome: 'stale' | 'gone' };

/** The ledger of calls to tools that must not run twice, by thread and tool-use id. */
export interface Ledger {
  /**
   * Records that a call begins. `run`: the first time, make the call. `done`: it ended before, with this
   * result. `uncertain`: it began before, and its outcome is unknown. `stale`: the epoch has changed.
   */
  open(
    call: LedgerCall,
  ): Promise<{ outcome: 'run' | 'uncertain' | 'stale' } | { outcome: 'done'; result: string }>;
  /** Stores the result of a call that has ended. */
  close(call: LedgerCall, result: string): Promise<void>;
}
/** A call in the ledger. */
export interface LedgerCall {
  threadId: string;
  epoch: number;
  toolUseId: string;
}

/** The rights of sessions, and the ledger. */
export interface ToolAuthority {
  /**
   * Checks a token. Checks within one turn of the event loop share one request. The same object as before while nothing has
   * changed.
   */
  authorityOf(token: TokenHold): Promise<Authority>;
  /** Restricts the tools of a run's session until the run ends. Throws `stale_epoch` when it has ended. */
  narrowTools(call: { runId: string; tools: readonly string[] }): Promise<void>;
  ledger: Ledger;
}

/** Every method throws `unavailable` when Redis does not answer. */
export function createToolAuthority({ scripts }: { scripts: Scripts }): ToolAuthority {
  const authorityIn = createReader();
  return {
    authorityOf: batchQueries(
      async (tokens: TokenHold[]) => {
        const { each } = await scripts.call<{ each: string[] }>(lua.authority, { tokens });
        return each.map(authorityIn);
      },
      { keyOf: ({ threadId, epoch, owner = '' }) => `${threadId} ${epoch} ${owner}` },
    ),
    async narrowTools(call) {
      const { outcome } = await scripts.call<{ outcome: 'ok' | 'over' }>(lua.narrow, call);
      if (outcome === 'over')
        throw new AppError('stale_epoch', 'The run has ended, so its tools were not narrowed.');
    },
    ledger: {
      open: (call) => scripts.call(lua.ledger, call),
      close: async (call, result) => {
        await scripts.call(lua.ledger, { ...call, result });
      },
    },
  };
}

/** Authorities remembered at once, about one for each session whose run is in progress. */
const maxKnown = 1_000;

/** Creates the reader of what the script reports: a text that was read before gives the same object. */
function createReader(): (text: string) => Authority {
  const known = new Map<string, Authority>();
  return (text) => {
    const found = known.get(text);
    if (found) return found;
    if (known.size >= maxKnown) known.clear();
    const authority = readAuthority(text);
    known.set(text, authority);
    return authority;
  };
}

/** The script reports lists as JSON texts. */
function readAuthority(text: string): Authority {
  const { scopes, tools, ...authority } = JSON.parse(text) as Authority & { scopes?: string; tools?: string };
  return {
    ...authority,
    ...(scopes && { scopes: JSON.parse(scopes) as string[] }),
    ...(tools && { tools: JSON.parse(tools) as string[] }),
  } as Authority;
}
