import { readFileSync, writeFileSync } from 'node:fs';

/** An external effect of a tool, as in the ledger. `at`: when the tool was allowed to run, by the gateway's clock, ms. */
export interface Effect {
  kind: 'effect' | 'waiting' | 'cancelled' | 'waited' | 'reviewed';
  at: number;
  threadId: string;
  runId?: string | undefined;
  /** The attempt of the run that was current in Redis at that time. */
  attempt?: number | undefined;
  n: number;
  /** The agent process that called, and the epoch of its token: as it reports them itself. */
  agent?: string | undefined;
  epoch?: number | null | undefined;
}

/** The ledger of effects: an append-only file that no fault affects. */
export function openEffects(path: string) {
  writeFileSync(path, '');
  return {
    path,
    /** All effects so far, in order. */
    read: (): Effect[] =>
      readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line)),
  };
}
export type Effects = ReturnType<typeof openEffects>;
