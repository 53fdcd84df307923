import type { FinalRunStatus, ModelUse, SessionPath } from '@harness/contracts';
import type { Ending, Turn } from '@harness/dispatch';
import type { TurnEnd } from '../turn/end-turn.ts';
import type { TurnDeps } from '../turn/turn.ts';

/** The data of one attempt at a run, for the metrics. */
export interface TurnSeen {
  attempt: number;
  /** The run's final status if the attempt committed it; otherwise how the attempt ended. */
  outcome: FinalRunStatus | Exclude<TurnEnd, 'committed'> | 'not started';
  /** `none`: no session was used, as for reviews and cancelled runs. */
  path: SessionPath | 'none';
  timings: Ending['timings'];
  usage: Ending['usage'];
  /** Use of models, by this agent and tenant. */
  uses: ModelUse[];
  /** Not the first turn of its thread. */
  isFollowUp: boolean;
  died?: Turn['died'];
}

/** Runs one turn with observed `deps`, and calls `onTurn` once, however the turn ends. */
export async function seeTurn(
  turn: Turn,
  { deps, onTurn }: { deps: TurnDeps; onTurn: (seen: TurnSeen) => void },
  run: (deps: TurnDeps) => Promise<TurnEnd>,
): Promise<TurnEnd> {
  let path: TurnSeen['path'] = 'none';
  let ending: Ending | undefined;
  let end: TurnEnd | undefined;
  const uses: ModelUse[] = [];
  try {
    end = await run({
      ...deps,
      onPath(found) {
        path = found;
        deps.onPath(found);
      },
      onUsed(models) {
        const { tenant, agent } = turn;
        uses.push(...models.map((used) => ({ ...used, agent: agent?.name ?? '', tenant })));
        deps.onUsed(models);
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
      uses,
      isFollowUp: turn.finishedRuns > 0,
      died: turn.died,
    });
  }
}
