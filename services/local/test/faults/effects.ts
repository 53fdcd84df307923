import { readFileSync, writeFileSync } from 'node:fs';

/** What a tool did to the world, as the ledger has it. `at` is the gateway's clock, ms, when the tool was let run. */
export interface Effect {
  kind: 'effect' | 'waiting' | 'cancelled' | 'waited' | 'reviewed';
  at: number;
  threadId: string;
  runId?: string | undefined;
  /** Which try of the run Redis believed in at that moment. */
  attempt?: number | undefined;
  n: number;
  /** Which agent process asked, and with a token of which epoch: told by itself. */
  agent?: string | undefined;
  epoch?: number | null | undefined;
}

/** The ledger of effects: an append-only file, outside of everything that faults are done to. */
export function openEffects(path: string) {
  writeFileSync(path, '');
  return {
    path,
    /** All so far, in the order they happened. */
    read: (): Effect[] =>
      readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line)),
  };
}
export type Effects = ReturnType<typeof openEffects>;
