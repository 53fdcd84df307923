import type { FinalRunStatus, SessionPath } from '@harness/contracts';
import type { Ending, Turn } from '@harness/dispatch';
import type { TurnDeps, TurnEnd } from '../turn/turn.ts';

/** What is counted of one attempt at a run. */
export interface TurnSeen {
  attempt: number;
  /** The run's status, when the attempt gave it its result; otherwise what became of the attempt. */
  outcome: FinalRunStatus | Exclude<TurnEnd, 'committed'> | 'not started';
  /** `none`: it came to no session, as reviews and cancelled runs do. */
  path: SessionPath | 'none';
  timings: Ending['timings'];
  usage: Ending['usage'];
}

/** Runs one turn with `deps` that note what becomes of it, and tells `onTurn` once, however it ends. */
export async function seeTurn(
  turn: Turn,
  { deps, onTurn }: { deps: TurnDeps; onTurn: (seen: TurnSeen) => void },
  run: (deps: TurnDeps) => Promise<TurnEnd>,
): Promise<TurnEnd> {
  let path: TurnSeen['path'] = 'none';
  let ending: Ending | undefined;
  let end: TurnEnd | undefined;
  try {
    end = await run({
      ...deps,
      onPath(found) {
        path = found;
        deps.onPath(found);
      },
      onCommitted(committedTurn, committed, remaining) {
        ending = committed;
        deps.onCommitted(committedTurn, committed, remaining);
      },
    });
    return end;
  } finally {
    const outcome = end === 'committed' ? (ending?.status ?? 'success') : (end ?? 'not started');
    onTurn({
      attempt: turn.attempt,
      outcome,
      path,
      timings: ending?.timings,
      usage: ending?.usage,
    });
  }
}
