import type { FinalRunStatus, ModelUse, SessionPath } from '@harness/contracts';
import type { Ending, Turn } from '@harness/dispatch';
import type { ModelRequest } from '../session/model-usage.ts';
import type { TurnEnd } from '../turn/end-turn.ts';
import type { TurnDeps } from '../turn/turn.ts';

/** The data of one attempt at a run, for metrics and traces. */
export interface ObservedTurn {
  attempt: number;
  /** The run's final status if the attempt committed it; otherwise how the attempt ended. */
  outcome: FinalRunStatus | Exclude<TurnEnd, 'committed'> | 'not started';
  /** `none`: no session was used, as for reviews and cancelled runs. */
  path: SessionPath | 'none';
  timings: Ending['timings'];
  usage: Ending['usage'];
  /** Use of models, by this agent and tenant. */
  uses: ModelUse[];
  requests: readonly ModelRequest[];
  /** Not the first turn of its thread. */
  isFollowUp: boolean;
  died?: Turn['died'];
  /** Times of the clock, ms; undefined: the attempt ended before that step. */
  times: { begunMs: number; sessionMs?: number; commitMs?: number; endedMs: number };
  ending: Ending | undefined;
}

/** Runs one turn with observed `deps`, and calls `onTurn` once, however the turn ends. */
export async function observeTurn(
  turn: Turn,
  { deps, onTurn }: { deps: TurnDeps; onTurn: (seen: ObservedTurn, turn: Turn) => void },
  run: (deps: TurnDeps) => Promise<TurnEnd>,
): Promise<TurnEnd> {
  let path: ObservedTurn['path'] = 'none';
  let ending: Ending | undefined;
  let end: TurnEnd | undefined;
  let requests: readonly ModelRequest[] = [];
  const uses: ModelUse[] = [];
  const times: ObservedTurn['times'] = { begunMs: Date.now(), endedMs: 0 };
  try {
    end = await run({
      ...deps,
      lease: {
        ...deps.lease,
        commit(of, committed) {
          times.commitMs ??= Date.now();
          return deps.lease.commit(of, committed);
        },
      },
      onPath(found) {
        path = found;
        times.sessionMs = Date.now();
        deps.onPath(found);
      },
      onUsed(used) {
        const { tenant, agent } = turn;
        uses.push(...used.models.map((model) => ({ ...model, agent: agent?.name ?? '', tenant })));
        requests = used.requests;
        deps.onUsed(used);
      },
      onCommitted(committedTurn, committed, remaining) {
        ending = committed;
        deps.onCommitted(committedTurn, committed, remaining);
      },
    });
    return end;
  } finally {
    const outcome = end === 'committed' ? (ending?.status ?? 'success') : (end ?? 'not started');
    const seen: ObservedTurn = {
      attempt: turn.attempt,
      outcome,
      path,
      timings: ending?.timings,
      usage: ending?.usage,
      uses,
      requests,
      isFollowUp: turn.finishedRuns > 0,
      died: turn.died,
      times: { ...times, endedMs: Date.now() },
      ending,
    };
    onTurn(seen, turn);
  }
}
