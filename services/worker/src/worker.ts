/**
 * A worker: takes rings, holds threads, runs one turn at a time per thread, and leaves in good order.
 *
 * Thread here: not held -> held (claimed, idle) <-> in a turn; back to not held by eviction, drain or loss of health.
 */
import { randomUUID } from 'node:crypto';
import { runUuidOf, signThreadToken, threadTokenTtlSeconds, toAppError } from '@harness/contracts';
import type { Control, Dispatch, Hold, Liveness, Turn } from '@harness/dispatch';
import type { PluginHost } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';
import type { OpenSession } from './open-session.ts';
import type { SessionHomes } from './session-home.ts';
import { createSessionPool, type SessionPool } from './session-pool.ts';
import { createTranscripts, transcriptHas } from './transcripts.ts';
import { fail, refuseTurn, runTurn, type StopReason, type TurnDeps, type TurnEnd } from './turn.ts';

export interface WorkerDeps {
  dispatch: Dispatch;
  plugins: PluginHost;
  liveness: Liveness;
  homes: SessionHomes;
  openSession: OpenSession;
  tokenSecret: string;
  mcpUrl: string;
  logger: Logger;
  defaultModel: string | undefined;
  maxSessions: number;
  sessionTtlMs: number;
  turnTimeoutMs: number;
}

export interface FleetWorker {
  pool: SessionPool;
  /** At most one turn of the thread. Throws `session_failed` before a prompt was sent, unless it was the last try. */
  onRing(threadId: string, lastTry: boolean): Promise<void>;
  onControl(control: Control): void;
  /** Turns that could begin now: without any, others should take unowned threads. */
  freeSlots(): number;
  /** Ends every session: this process may no longer be the owner of its threads. */
  fence(): void;
  /** Stops every turn under way; each hands its attempt back. */
  stopTurns(): void;
  /** Gives every thread up and ends every session. */
  leave(): Promise<void>;
}

interface Held {
  hold: Hold;
  counter: number;
  /** When the session's token was signed, ms on the monotonic clock. */
  tokenAt: number;
}

export function createWorker(deps: WorkerDeps): FleetWorker {
  const { dispatch, liveness, logger } = deps;
  const { lease, doorbell } = dispatch;
  const held = new Map<string, Held>();
  const turns = new Map<string, { stop: AbortController; runId: string | undefined }>();
  const transcripts = createTranscripts((threadId) => {
    deps.homes.remove(threadId).catch((error) => logger.warn({ err: error, threadId }, 'folder not removed'));
  });
  let leaving = false;

  const pool = createSessionPool({
    maxSessions: deps.maxSessions,
    idleTtlMs: deps.sessionTtlMs,
    onEvict(key) {
      const { hold } = held.get(key) ?? {};
      if (!hold) return;
      held.delete(key);
      lease.release(hold).catch((error) => logger.warn({ err: error, threadId: key }, 'thread not released'));
    },
  });

  /** The record of a hold; a new epoch means another process's time in between, so an old session must not speak. */
  const keep = (hold: Hold): Held => {
    const known = held.get(hold.threadId);
    if (known?.hold.epoch === hold.epoch && known.hold.me === hold.me) return known;
    pool.evict(hold.threadId);
    const fresh = { hold, counter: 0, tokenAt: 0 };
    held.set(hold.threadId, fresh);
    return fresh;
  };

  const tokenFor = async (turn: Turn, record: Held) => {
    const view = turn.allowedTools === undefined ? {} : { tools: turn.allowedTools };
    const hasTools = (deps.plugins.toolServer?.list(view).length ?? 0) > 0;
    if (!hasTools) return undefined;
    record.tokenAt = performance.now();
    const { threadId, epoch } = turn.hold;
    const claims = {
      threadId,
      epoch,
      tenant: turn.tenant,
      taskId: turn.threadTaskId,
      tools: turn.allowedTools,
    };
    return signThreadToken(claims, deps.tokenSecret);
  };

  const turnDeps: TurnDeps = {
    lease,
    hooks: deps.plugins.hooks,
    logger,
    turnTimeoutMs: deps.turnTimeoutMs,
    healthy: liveness.healthy,
    async lend(turn) {
      const { threadId } = turn.hold;
      const record = keep(turn.hold);
      const profile = {
        model: turn.model ?? deps.defaultModel,
        systemPrompt: turn.systemPrompt,
        tools: turn.allowedTools,
      };
      const resume = transcripts.resumable(threadId, turn.finishedRuns);
      const lent = await pool.lend({
        key: threadId,
        profile,
        open: async () =>
          deps.openSession({ name: threadId, profile, resume, token: await tokenFor(turn, record) }),
      });
      const tokenAgeMs = performance.now() - record.tokenAt;
      if (lent.path === 'warm' && tokenAgeMs + deps.turnTimeoutMs > threadTokenTtlSeconds * 900) {
        const token = await tokenFor(turn, record);
        if (token) await lent.session.renewMcp({ url: deps.mcpUrl, token });
      }
      // Known from now on: a process that dies in this turn is resumed from here.
      transcripts.note(threadId, { sessionId: lent.session.sessionId, seq: turn.finishedRuns });
      return lent;
    },
    give: pool.give,
    evict: pool.evict,
    wasSent(turn, session) {
      const { env } = deps.homes.open(turn.hold.threadId);
      return transcriptHas(env.CLAUDE_CONFIG_DIR ?? '', session.sessionId, runUuidOf(turn.runId));
    },
    nextCounter(threadId) {
      const record = held.get(threadId);
      return record ? ++record.counter : 1;
    },
  };

  const oneTurn = async (threadId: string, stop: AbortController, lastTry: boolean): Promise<void> => {
    const claim = await lease.claim(threadId, liveness.me());
    if (claim.outcome === 'owned') return doorbell.ring(threadId, claim.owner);
    if (claim.outcome !== 'mine') return;
    keep(claim.hold);
    const begin = await lease.begin(claim.hold, randomUUID());
    if (!('turn' in begin)) return;
    const { turn, outcome } = begin;
    turns.set(threadId, { stop, runId: turn.runId });
    const log = logger.child({ threadId, runId: turn.runId });
    log.debug({ kind: turn.kind, attempt: turn.attempt, epoch: turn.hold.epoch }, 'turn begins');
    let end: TurnEnd;
    try {
      end = await (outcome === 'run' ? runTurn(turn, stop, turnDeps) : refuseTurn(turn, outcome, turnDeps));
    } catch (thrown) {
      // Nothing was sent to the model yet: the attempt does not count, and BullMQ rings again.
      pool.evict(threadId);
      const error = toAppError(thrown);
      log.warn({ err: error }, 'turn did not start');
      if (!lastTry) {
        await lease.handBack(turn);
        throw error;
      }
      end = await fail(turn, 'error', error.toBody(), turnDeps);
    }
    if (end === 'committed') {
      const known = transcripts.resumable(threadId, turn.finishedRuns);
      if (known) transcripts.note(threadId, { sessionId: known, seq: turn.seq });
    }
    if (end === 'lost') held.delete(threadId);
    log.debug({ end }, 'turn ended');
    if (leaving || end === 'lost') return;
    if (end === 'committed' && !pool.has(threadId)) {
      // Without a session there is nothing to hold the thread for; whoever is free takes what waits.
      held.delete(threadId);
      await lease.release(turn.hold);
    } else await doorbell.ring(threadId, liveness.workerId);
  };

  const stopAll = (reason: StopReason) => {
    for (const { stop } of turns.values()) stop.abort(reason);
  };

  return {
    pool,
    async onRing(threadId, lastTry) {
      // A second run of one job must be a no-op: BullMQ may take its own stalled job again.
      if (turns.has(threadId) || leaving) return;
      const stop = new AbortController();
      turns.set(threadId, { stop, runId: undefined });
      try {
        await oneTurn(threadId, stop, lastTry);
      } finally {
        turns.delete(threadId);
      }
    },
    onControl(control) {
      const turn = turns.get(control.threadId);
      if (control.action === 'cancel') {
        if (turn?.runId === control.runId) turn.stop.abort('cancelled');
        return;
      }
      turn?.stop.abort('lost');
      if (!turn) pool.evict(control.threadId);
      held.delete(control.threadId);
      transcripts.drop(control.threadId);
    },
    freeSlots: () => deps.maxSessions - turns.size,
    fence() {
      stopAll('unhealthy');
      pool.close();
      held.clear();
    },
    stopTurns() {
      stopAll('drain');
    },
    async leave() {
      leaving = true;
      pool.close();
      await Promise.all([...held.values()].map(({ hold }) => lease.release(hold)));
      held.clear();
    },
  };
}
