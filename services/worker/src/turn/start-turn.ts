import { randomUUID } from 'node:crypto';
import { AppError, runUuidOf, type SessionPath, toAppError } from '@harness/contracts';
import type { Dispatch, HeldThread, Hold, Liveness, Turn } from '@harness/dispatch';
import type { HookRunner } from '@harness/plugin-kit';
import type { Logger, Scrubber, Tracing } from '@harness/runtime';
import { type ObservedTurn, observeTurn } from '../process/observe-turn.ts';
import type { SessionLending } from '../session/pool/session-lending.ts';
import type { SessionPool } from '../session/pool/session-pool.ts';
import type { ThreadHolds } from '../session/thread-holds.ts';
import type { ThreadSlots, TurnUnderWay } from '../session/thread-slots.ts';
import { failTurn, handBack, refuseTurn, type TurnEnd, withWrite } from './end-turn.ts';
import { turnSpanOf } from './trace-turn.ts';
import { runTurn, type TurnDeps } from './turn.ts';

/** What the start of a turn needs. */
export interface TurnStarterDeps {
  dispatch: Dispatch;
  hooks: HookRunner;
  liveness: Liveness;
  slots: ThreadSlots;
  holds: ThreadHolds;
  pool: SessionPool;
  lending: SessionLending;
  logger: Logger;
  scrubber: Scrubber;
  sessionTtlMs: number;
  turnTimeoutMs: number;
  /** Called once for each attempt at a run, after its end. */
  onTurn(seen: ObservedTurn, turn: Turn): void;
  tracing: Tracing;
}

/** Which work a worker that shuts down still does. */
export interface Stopping {
  /** It takes no more threads and keeps none. */
  retiring: boolean;
  /** It is about to release every thread. */
  leaving: boolean;
}

/** Starts the turns of a worker. */
export interface TurnStarter {
  /**
   * Claims the thread and runs one turn. Returns true when there is more to do. Throws when the turn failed
   * before its prompt was sent; with `lastTry` the run gets that error as its result instead.
   */
  start(threadId: string, underWay: TurnUnderWay, lastTry: boolean): Promise<boolean>;
  /** Turns since the start of the process, in total and by session path. */
  stats(): { turns: number; paths: Record<SessionPath, number> };
}

/** A failure before the prompt was sent. What is no error of the table, such as one of the system, may pass: it is tried again. */
const startErrorOf = (thrown: unknown): AppError =>
  thrown instanceof AppError
    ? thrown
    : new AppError('session_failed', `The agent session did not start: ${toAppError(thrown).message}`, {
        cause: thrown,
      });

/** Creates the starter. It reads `stopping` at each step. */
export function createTurnStarter(deps: TurnStarterDeps, stopping: Readonly<Stopping>): TurnStarter {
  const { dispatch, liveness, holds, lending, pool, logger } = deps;
  const { lease, doorbell } = dispatch;
  const stats = { turns: 0, paths: { warm: 0, spare: 0, resume: 0, cold: 0 } };
  const turnDeps = turnDepsOf(deps, (path) => {
    stats.paths[path]++;
  });
  // A message that crashes the worker ends every turn there. Last attempts run one at a time, so that no other
  // turn loses its last attempt to such a message.
  let isOnLastAttempt = false;

  /** Begins the thread's first message, if it has one, and runs its turn. */
  const beginTurn = async (hold: Hold, underWay: TurnUnderWay, lastTry: boolean): Promise<boolean> => {
    const { threadId } = hold;
    const begin = await lease.begin(hold, randomUUID());
    if (begin.outcome === 'empty' && begin.prewarm) await warm(begin.prewarm, lastTry);
    else if (begin.outcome === 'empty' && !pool.has(threadId)) await holds.release(threadId);
    if (!('turn' in begin)) return false;
    const { turn, outcome } = begin;
    underWay.runId = turn.runId;
    stats.turns++;
    const log = logger.child({ threadId, runId: turn.runId });
    log.debug({ kind: turn.kind, attempt: turn.attempt, epoch: turn.hold.epoch }, 'turn begins');
    const end = await deps.tracing.within(turnSpanOf(turn), () =>
      observeTurn(turn, { deps: turnDeps, onTurn: deps.onTurn }, (seen) =>
        outcome === 'run'
          ? tryTurn(turn, { stop: underWay.stop, lastTry }, seen)
          : refuseTurn(turn, outcome, seen),
      ),
    );
    log.debug({ end }, 'turn ended');
    // If the thread is lost, the release is fenced. Otherwise the next claim starts a new epoch with new
    // counters and tokens.
    if (end === 'lost' || (end === 'committed' && !pool.has(threadId) && !stopping.leaving)) {
      underWay.isRung = false; // the release rings the next owner
      await holds.release(threadId);
      return false;
    }
    return end !== 'committed';
  };

  const tryTurn = async (
    turn: Turn,
    { stop, lastTry }: { stop: AbortController; lastTry: boolean },
    seen: TurnDeps,
  ): Promise<TurnEnd> => {
    try {
      return await runTurn(turn, stop, seen);
    } catch (thrown) {
      // No prompt was sent yet: the attempt does not count, and BullMQ rings again, unless the error would be the same.
      const { threadId } = turn.hold;
      pool.evict(threadId);
      const error = startErrorOf(thrown);
      logger.warn({ err: error, threadId, runId: turn.runId }, 'turn did not start');
      const current = { ...turn, hold: holds.get(threadId) ?? turn.hold };
      const writing = withWrite(seen);
      const isFinal = lastTry || !(error.retry || stop.signal.aborted);
      if (isFinal) return failTurn(current, { status: 'error', error: error.toBody() }, writing);
      await handBack(current, writing);
      throw error;
    }
  };

  /** Starts the session of a thread without a message. */
  const warm = async (thread: HeldThread, lastTry: boolean) => {
    try {
      await lending.warm(thread);
    } catch (thrown) {
      const error = toAppError(thrown);
      logger.warn({ err: error, threadId: thread.hold.threadId }, 'session not warmed');
      if (!lastTry) throw error;
    }
  };

  return {
    async start(threadId, underWay, lastTry) {
      const claim = await lease.claim(threadId, liveness.me());
      if (claim.outcome === 'owned') {
        holds.drop(threadId);
        await doorbell.ring(threadId, claim.owner);
        return false;
      }
      if (claim.outcome !== 'mine') return false;
      holds.keep(claim.hold);
      if (stopping.retiring) return false; // the worker releases the thread
      if (underWay.stop.signal.aborted) {
        if (!pool.has(threadId)) await holds.release(threadId);
        return false;
      }
      if (!claim.isLastAttempt) return beginTurn(claim.hold, underWay, lastTry);
      if (isOnLastAttempt) {
        // Another worker may take the thread; otherwise the sweep rings again shortly.
        holds.drop(threadId);
        await lease.release(claim.hold, { ring: false });
        return false;
      }
      isOnLastAttempt = true;
      try {
        return await beginTurn(claim.hold, underWay, lastTry);
      } finally {
        isOnLastAttempt = false;
      }
    },
    stats: () => stats,
  };
}

/** What each turn of the worker needs. */
function turnDepsOf(deps: TurnStarterDeps, onPath: TurnDeps['onPath']): TurnDeps {
  const { dispatch, slots, holds, pool } = deps;
  return {
    lease: dispatch.lease,
    hooks: deps.hooks,
    questions: dispatch.questions,
    authorityOf: dispatch.authorityOf,
    commandsOf: dispatch.profiles.skillCommands,
    logger: deps.logger,
    scrubber: deps.scrubber,
    turnTimeoutMs: deps.turnTimeoutMs,
    sessionTtlMs: deps.sessionTtlMs,
    healthy: deps.liveness.healthy,
    lend: deps.lending.lend,
    give: pool.give,
    evict: pool.evict,
    wasSent: ({ hold, runId }, { sessionId }) =>
      dispatch.transcripts.hasMessage(hold.threadId, sessionId, runUuidOf(runId)),
    relist: holds.relist,
    nextCounter: holds.nextCounter,
    onCommitted({ hold }, _ending, remaining) {
      const underWay = slots.get(hold.threadId)?.turn;
      if (underWay && remaining > 0) underWay.isRung = true;
    },
    onPath,
    onUsed: () => undefined,
  };
}
