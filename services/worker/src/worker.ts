/**
 * A worker: receives rings, holds threads, runs at most one turn at a time per thread, and shuts down in
 * order.
 *
 * States of a thread here: not held -> held (claimed, idle) <-> in a turn; back to not held by eviction,
 * drain, or when another worker has taken it.
 *
 * Files of this folder:
 *   main.ts     starts the process, in steps; shuts it down in reverse
 *   config.ts   environment -> typed config
 * Folders:
 *   turn/       one turn: hooks, model, events, commit; `ctx.invoker` of plugins
 *   session/    Agent SDK sessions: start, pool, spares, transcripts, lease
 *   process/    the worker's process: HTTP endpoint, metrics, the leash
 */
import { randomUUID } from 'node:crypto';
import { runUuidOf, type SessionPath, toAppError } from '@harness/contracts';
import type { Control, Dispatch, HeldThread, Hold, Liveness, Turn } from '@harness/dispatch';
import type { HookRunner } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';
import { seeTurn, type TurnSeen } from './process/turn-seen.ts';
import type { SessionLending } from './session/session-lending.ts';
import type { SessionPool } from './session/session-pool.ts';
import type { ThreadSlots, TurnUnderWay } from './session/thread-slots.ts';
import { failTurn, handBack, refuseTurn, type StopReason, type TurnEnd, withWrite } from './turn/end-turn.ts';
import { runTurn, type TurnDeps } from './turn/turn.ts';

/** What a worker needs. */
export interface WorkerDeps {
  dispatch: Dispatch;
  hooks: HookRunner;
  liveness: Liveness;
  /** Shared with the session pool and the session lease. */
  slots: ThreadSlots;
  pool: SessionPool;
  lending: SessionLending;
  logger: Logger;
  sessionTtlMs: number;
  turnTimeoutMs: number;
  /** How many turns may run at the same time now. */
  maxTurns(): number;
  /** The worker was asked to finish its turns and exit. */
  onDrain(): void;
  /** Called once for each attempt at a run, after its end. */
  onTurn(seen: TurnSeen): void;
}

/** A worker as the rest of its process uses it. */
export interface FleetWorker {
  /**
   * Runs at most one turn of the thread. Returns true when there is more to do. Throws, for example
   * `session_failed`, when the turn failed before its prompt was sent; with `lastTry` the run gets that error
   * as its result instead.
   */
  onRing(threadId: string, lastTry: boolean): Promise<boolean>;
  /** Handles a control message: drain, cancel, interrupt, drop, missed. */
  onControl(control: Control): void;
  /** Releases a thread after the pool has ended its idle session. */
  onEvict(threadId: string): void;
  /** Turns that could start now; with 0 the worker leaves unowned threads to others. */
  freeSlots(): number;
  /** Free slots: sessions that could start without ending an idle one. */
  room(): number;
  /** Ids of the threads that this worker holds. */
  held(): string[];
  /** Turns since the start of the process, in total and by session path. */
  stats(): { turns: number; paths: Record<SessionPath, number> };
  /**
   * Called when this process may no longer own its threads: stops every turn, ends its session and hands it
   * back. Idle sessions are kept until `proveHolds` has checked them.
   */
  fence(): void;
  /**
   * Checks all held threads after messages may have been missed: gives up those that another worker has
   * taken, and applies missed cancels, interrupts and drains.
   */
  proveHolds(): Promise<void>;
  /** Takes no more threads. Gives up every idle thread now, and each other one when its turn ends. */
  retire(): Promise<void>;
  /** Stops every turn; each is handed back, so its attempt does not count. */
  stopTurns(): void;
  /** Ends every session and releases every thread. */
  leave(): Promise<void>;
}

/** Creates the worker; it starts no work before its first ring. */
export function createWorker(deps: WorkerDeps): FleetWorker {
  const { dispatch, liveness, slots, lending, pool, logger } = deps;
  const { lease, doorbell } = dispatch;
  const turnOf = (threadId: string) => slots.get(threadId)?.turn;
  const turns = () => slots.with('turn');
  const stats = { turns: 0, paths: { warm: 0, spare: 0, resume: 0, cold: 0 } };
  // A message that crashes the worker crashes every turn there. Last attempts run one at a time, so that no
  // innocent turn loses its last attempt to such a message.
  let isOnLastAttempt = false;
  /** The worker takes no more threads and keeps none. */
  let retiring = false;
  let leaving = false;

  const turnDeps: TurnDeps = {
    lease,
    hooks: deps.hooks,
    logger,
    turnTimeoutMs: deps.turnTimeoutMs,
    sessionTtlMs: deps.sessionTtlMs,
    healthy: liveness.healthy,
    lend: lending.lend,
    give: pool.give,
    evict: pool.evict,
    wasSent: ({ hold, runId }, { sessionId }) =>
      dispatch.transcripts.hasMessage(hold.threadId, sessionId, runUuidOf(runId)),
    relist: lending.relist,
    nextCounter: lending.nextCounter,
    onCommitted({ hold }, _ending, remaining) {
      const underWay = turnOf(hold.threadId);
      if (underWay && remaining > 0) underWay.isRung = true;
    },
    onPath: (path) => {
      stats.paths[path]++;
    },
  };

  /** Claims the thread and runs one turn. Returns true when there is more to do. */
  const oneTurn = async (threadId: string, underWay: TurnUnderWay, lastTry: boolean): Promise<boolean> => {
    const claim = await lease.claim(threadId, liveness.me());
    if (claim.outcome === 'owned') {
      drop(threadId);
      await doorbell.ring(threadId, claim.owner);
      return false;
    }
    if (claim.outcome !== 'mine') return false;
    lending.keep(claim.hold);
    if (retiring) return false; // onRing gives it up
    if (underWay.stop.signal.aborted) {
      if (!pool.has(threadId)) await letGo(threadId);
      return false;
    }
    if (!claim.isLastAttempt) return heldTurn(claim.hold, underWay, lastTry);
    if (isOnLastAttempt) {
      // Another worker may take the thread; otherwise the sweep rings again shortly.
      drop(threadId);
      await lease.release(claim.hold, { ring: false });
      return false;
    }
    isOnLastAttempt = true;
    try {
      return await heldTurn(claim.hold, underWay, lastTry);
    } finally {
      isOnLastAttempt = false;
    }
  };

  const heldTurn = async (hold: Hold, underWay: TurnUnderWay, lastTry: boolean): Promise<boolean> => {
    const { threadId } = hold;
    const { stop } = underWay;
    const begin = await lease.begin(hold, randomUUID());
    if (begin.outcome === 'empty' && begin.prewarm) await warm(begin.prewarm, lastTry);
    else if (begin.outcome === 'empty' && !pool.has(threadId)) await letGo(threadId);
    if (!('turn' in begin)) return false;
    const { turn, outcome } = begin;
    underWay.runId = turn.runId;
    stats.turns++;
    const log = logger.child({ threadId, runId: turn.runId });
    log.debug({ kind: turn.kind, attempt: turn.attempt, epoch: turn.hold.epoch }, 'turn begins');
    const end = await seeTurn(turn, { deps: turnDeps, onTurn: deps.onTurn }, (seen) =>
      outcome === 'run' ? tryTurn(turn, { stop, lastTry }, seen) : refuseTurn(turn, outcome, seen),
    );
    log.debug({ end }, 'turn ended');
    // If the thread is lost, the release is fenced. Otherwise the next claim starts a new epoch with new
    // counters and tokens.
    if (end === 'lost' || (end === 'committed' && !pool.has(threadId) && !leaving)) {
      underWay.isRung = false; // the release rings the next owner
      await letGo(threadId);
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
      // No prompt was sent yet: the attempt does not count, and BullMQ rings again.
      const { threadId } = turn.hold;
      pool.evict(threadId);
      const error = toAppError(thrown);
      logger.warn({ err: error, threadId, runId: turn.runId }, 'turn did not start');
      const current = { ...turn, hold: lending.holdOf(threadId) ?? turn.hold };
      const hopeless = error.code === 'agent_not_found' || error.code === 'skill_not_found';
      const writing = withWrite(seen);
      if (lastTry || hopeless) return failTurn(current, { status: 'error', error: error.toBody() }, writing);
      await handBack(current, writing);
      throw error;
    }
  };

  const warm = async (thread: HeldThread, lastTry: boolean) => {
    try {
      await lending.warm(thread);
    } catch (thrown) {
      const error = toAppError(thrown);
      logger.warn({ err: error, threadId: thread.hold.threadId }, 'session not warmed');
      if (!lastTry) throw error;
    }
  };

  /** Releases a thread that has no session here; any worker may take its waiting mail. */
  const letGo = async (threadId: string) => {
    const hold = lending.holdOf(threadId);
    lending.forget(threadId);
    if (hold) await lease.release(hold);
  };

  /** Ends the thread's session, if there is one, and releases the thread. */
  const giveUp = async (threadId: string) => {
    pool.evict(threadId);
    await letGo(threadId);
  };

  /** Another worker owns the thread: ends its session here and forgets the hold. */
  const drop = (threadId: string) => {
    pool.evict(threadId);
    lending.forget(threadId);
  };

  /** No turn starts here from now on, although the process receives its SIGTERM a moment later. */
  const beginDrain = () => {
    retiring = true;
    deps.onDrain();
  };

  const proveHolds = async () => {
    const held = lending.holds().map(({ threadId, epoch }) => {
      return { threadId, epoch, runId: turnOf(threadId)?.runId };
    });
    const found = await lease.look(liveness.me(), held);
    for (const threadId of found.lost) {
      const asked = held.find((one) => one.threadId === threadId);
      if (lending.holdOf(threadId)?.epoch !== asked?.epoch) continue; // claimed again meanwhile
      turnOf(threadId)?.stop.abort('lost');
      drop(threadId);
    }
    for (const [, { stop, runId }] of turns()) {
      if (runId === undefined) continue;
      if (found.cancel.includes(runId)) stop.abort('cancelled');
      else if (found.interrupt.includes(runId)) stop.abort('interrupted');
    }
    if (found.drain) beginDrain();
  };

  const stopAll = (reason: StopReason) => {
    for (const [, { stop }] of turns()) stop.abort(reason);
  };

  return {
    stats: () => stats,
    async onRing(threadId, lastTry) {
      // A repeated job must be a no-op: BullMQ may run a stalled job again.
      const now = turnOf(threadId);
      if (now) {
        now.isRung = true;
        return false;
      }
      const underWay: TurnUnderWay = { stop: new AbortController(), runId: undefined, isRung: false };
      slots.update(threadId, { turn: underWay });
      try {
        // `retire` leaves out threads that are in use: they are given up here, also after a failure.
        const more = await oneTurn(threadId, underWay, lastTry).finally(() => retiring && giveUp(threadId));
        return (more || underWay.isRung) && !retiring;
      } finally {
        slots.update(threadId, { turn: undefined });
      }
    },
    onControl(control) {
      if (control.action === 'drain') return beginDrain();
      if (control.action === 'missed') {
        proveHolds().catch((error) => logger.error({ err: error }, 'held threads not checked'));
        return;
      }
      const turn = turnOf(control.threadId);
      if (control.action === 'drop') {
        turn?.stop.abort('lost');
        if (!turn) pool.evict(control.threadId);
        return lending.forget(control.threadId);
      }
      if (turn?.runId === control.runId) {
        turn.stop.abort(control.action === 'cancel' ? 'cancelled' : 'interrupted');
      }
    },
    onEvict(threadId) {
      if (turnOf(threadId)) return; // its turn opens a new session at the next epoch
      letGo(threadId).catch((error) => logger.warn({ err: error, threadId }, 'thread not released'));
    },
    freeSlots: () => (retiring ? 0 : deps.maxTurns() - turns().length),
    room() {
      const { sessions, busy } = pool.counts();
      // Every running turn has a session or is starting one.
      return deps.maxTurns() - turns().length - (sessions - busy);
    },
    held: () => lending.holds().map(({ threadId }) => threadId),
    fence() {
      stopAll('unhealthy');
      pool.evictBusy();
    },
    proveHolds,
    async retire() {
      retiring = true;
      const idle = lending.holds().filter(({ threadId }) => !turnOf(threadId));
      const given = await Promise.allSettled(idle.map(({ threadId }) => giveUp(threadId)));
      for (const one of given)
        if (one.status === 'rejected') logger.warn({ err: one.reason }, 'thread not released');
    },
    stopTurns() {
      stopAll('drain');
    },
    async leave() {
      leaving = true;
      pool.close();
      await Promise.all(lending.holds().map((hold) => lease.release(hold)));
      lending.forgetAll();
    },
  };
}
