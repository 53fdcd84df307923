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
 *   sandbox/    the sandbox of a session's process
 *   workspace/  the files of a thread on this machine
 *   process/    the worker’s process: what it builds on, HTTP endpoint, metrics, the leash
 */
import type { SessionPath } from '@harness/contracts';
import type { Control } from '@harness/dispatch';
import type { TurnUnderWay } from './session/thread-slots.ts';
import type { StopReason } from './turn/end-turn.ts';
import { createTurnStarter, type TurnStarterDeps } from './turn/start-turn.ts';

/** What a worker needs. */
export interface WorkerDeps extends TurnStarterDeps {
  /** How many turns may run at the same time now. */
  maxTurns(): number;
  /** The worker was asked to finish its turns and exit. */
  onDrain(): void;
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
  freeTurnSlots(): number;
  /** Sessions that could start without ending an idle one. */
  freeSessionSlots(): number;
  /** Ids of the threads that this worker holds. */
  held(): string[];
  /** Turns since the start of the process, in total and by session path. */
  stats(): { turns: number; paths: Record<SessionPath, number> };
  /**
   * Called when this process may no longer own its threads: stops every turn, ends its session and hands it
   * back. Idle sessions are kept until `checkHolds` has checked them.
   */
  fence(): void;
  /**
   * Checks all held threads after messages may have been missed: gives up those that another worker has
   * taken, and applies missed cancels, interrupts and drains.
   */
  checkHolds(): Promise<void>;
  /** Takes no more threads. Gives up every idle thread now, and each other one when its turn ends. */
  retire(): Promise<void>;
  /** Stops every turn; each is handed back, so its attempt does not count. */
  stopTurns(): void;
  /** Ends every session and releases every thread. */
  leave(): Promise<void>;
}

/** Creates the worker; it starts no work before its first ring. */
export function createWorker(deps: WorkerDeps): FleetWorker {
  const { dispatch, liveness, slots, holds, pool, logger } = deps;
  const turnOf = (threadId: string) => slots.get(threadId)?.turn;
  const turns = () => slots.with('turn');
  const stopping = { retiring: false, leaving: false };
  const starter = createTurnStarter(deps, stopping);

  /** Starts no more turns, even before the process receives its SIGTERM. */
  const beginDrain = () => {
    stopping.retiring = true;
    deps.onDrain();
  };

  const checkHolds = async () => {
    const held = holds.list().map(({ threadId, epoch }) => {
      return { threadId, epoch, runId: turnOf(threadId)?.runId };
    });
    const found = await dispatch.lease.catchUp(liveness.me(), held);
    for (const threadId of found.lost) {
      const asked = held.find((one) => one.threadId === threadId);
      if (holds.get(threadId)?.epoch !== asked?.epoch) continue; // claimed again meanwhile
      turnOf(threadId)?.stop.abort('lost');
      holds.drop(threadId);
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
    stats: starter.stats,
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
        const more = await starter
          .start(threadId, underWay, lastTry)
          .finally(() => stopping.retiring && holds.giveUp(threadId));
        return (more || underWay.isRung) && !stopping.retiring;
      } finally {
        slots.update(threadId, { turn: undefined });
      }
    },
    onControl(control) {
      if (control.action === 'drain') return beginDrain();
      if (control.action === 'missed') {
        checkHolds().catch((error) => logger.error({ err: error }, 'held threads not checked'));
        return;
      }
      const turn = turnOf(control.threadId);
      if (control.action === 'drop') {
        turn?.stop.abort('lost');
        if (!turn) pool.evict(control.threadId);
        return holds.forget(control.threadId);
      }
      if (turn?.runId === control.runId) {
        turn.stop.abort(control.action === 'cancel' ? 'cancelled' : 'interrupted');
      }
    },
    onEvict(threadId) {
      if (turnOf(threadId)) return; // its turn opens a new session at the next epoch
      holds.release(threadId).catch((error) => logger.warn({ err: error, threadId }, 'thread not released'));
    },
    freeTurnSlots: () => (stopping.retiring ? 0 : deps.maxTurns() - turns().length),
    freeSessionSlots() {
      const { sessions, busy } = pool.counts();
      // Every running turn has a session or is starting one.
      return deps.maxTurns() - turns().length - (sessions - busy);
    },
    held: () => holds.list().map(({ threadId }) => threadId),
    fence() {
      stopAll('unhealthy');
      pool.evictBusy();
    },
    checkHolds,
    async retire() {
      stopping.retiring = true;
      const idle = holds.list().filter(({ threadId }) => !turnOf(threadId));
      const given = await Promise.allSettled(idle.map(({ threadId }) => holds.giveUp(threadId)));
      for (const one of given)
        if (one.status === 'rejected') logger.warn({ err: one.reason }, 'thread not released');
    },
    stopTurns() {
      stopAll('drain');
    },
    async leave() {
      stopping.leaving = true;
      pool.close();
      await holds.releaseAll();
    },
  };
}
