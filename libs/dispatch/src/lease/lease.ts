/**
 * A worker's hold on threads: claim -> begin -> emit … -> commit, or hand back; release at the end.
 *
 * Thread, as its worker sees it:
 *   free      --claim-->     held       (epoch rises when the owner changes)
 *   held      --begin-->     in a turn  (attempt + 1 per nonce)
 *   in a turn --commit-->    held       (done + 1)
 *   in a turn --hand back--> held       (attempt - 1: not a crash)
 *   held      --release-->   free
 *   any       --its liveness key expires, another worker claims--> lost: every further step returns `fenced`
 *
 * D1 a message is done once (commit needs seq = done + 1) · D2 in order · D3, D4 only the owner at its epoch
 * writes.
 *
 * This folder:
 *   turn.ts       what a worker holds, and one turn with its ending
 *   owner.lua     who owns a thread, and at which epoch; the fence (shared definitions)
 *   claim.lua, begin.lua, emit.lua, commit.lua, hand-back.lua, release.lua: one script per step
 *   catch-up.lua, raise-epoch.lua: scripts outside a turn
 *   doorbell.ts   rings a thread through BullMQ
 *   own-rings.ts  rings of a worker's own threads, over pub/sub
 */

import { type FileChanges, finalEventOf, jsonOf, type SessionPath } from '@harness/contracts';
import type { WorkProfile } from '../gateway/profiles.ts';
import { type Hash, taskOf, workspaceOf } from '../redis/records.ts';
import { listOf, type Scripts, scriptsBeside } from '../redis/scripts.ts';
import type { Doorbell } from './doorbell.ts';
import type {
  Begin,
  Claim,
  DeadAttempt,
  Ending,
  HeldNow,
  HeldThread,
  Hold,
  LeaseEvent,
  LeftFiles,
  Missed,
  Turn,
} from './turn.ts';

const lua = scriptsBeside(import.meta.url, {
  confirmed: ['commit'],
  unconfirmed: ['claim', 'begin', 'emit', 'hand-back', 'release', 'catch-up', 'raise-epoch'],
});

/** The steps of a worker. Every method throws `unavailable` when Redis does not answer. */
export interface Lease {
  /** Makes the worker `me` (workerId#incarnation) the owner, unless another live worker is. */
  claim(threadId: string, me: string): Promise<Claim>;
  /**
   * Begins the thread's next turn, if there is mail. `nonce`: one per attempt; a repeat with the same nonce
   * is the same attempt.
   */
  begin(hold: Hold, nonce: string): Promise<Begin>;
  /**
   * Writes events of the turn. `counter` rises by one per call in an epoch; a repeated number writes nothing.
   * `lost`: fenced, stop at once. `cancel`, `interrupt`: a caller asked to end this run.
   */
  emit(
    turn: Turn,
    batch: { counter: number; events: LeaseEvent[]; path?: SessionPath | undefined },
  ): Promise<{ lost: boolean; cancel: boolean; interrupt: boolean }>;
  /**
   * Stores the result of the run. `remaining`: messages that wait. `narrowed`: a skill took tools from the
   * session during the run. Undefined: fenced, or Redis has lost the message; nothing was committed.
   */
  commit(turn: Turn, ending: Ending): Promise<{ remaining: number; narrowed?: true } | undefined>;
  /**
   * Hands a begun turn back uncommitted; the attempt does not count. `left.files`: the new version of the thread's
   * files, with which its next attempt begins.
   */
  handBack(turn: Turn, left?: LeftFiles): Promise<void>;
  /**
   * Gives the thread up. Rings another worker for waiting mail, unless `ring` is false: then the sweep does.
   */
  release(hold: Hold, options?: { ring: boolean }): Promise<void>;
  /** The current state of these threads and their runs, after messages to the worker may have been missed. */
  catchUp(me: string, held: readonly HeldNow[]): Promise<Missed>;
  /**
   * Raises the epoch when a new process replaces the session's process. Returns the hold with its new epoch,
   * or undefined when the thread is lost.
   */
  raiseEpoch(hold: Hold): Promise<Hold | undefined>;
}

const textOf = (value: object | undefined) => value && jsonOf(value);

/** A new version of a thread's files as scripts store it; `event`: the data of `files.changed`. */
const storedFilesOf = (runId: string, files: FileChanges) => ({
  ...files,
  event: jsonOf({ runId, ...files }),
});

/** `doorbell` rings the threads that a commit sends mail to. */
export function createLease(deps: { scripts: Scripts; doorbell: Doorbell }): Lease {
  const { scripts, doorbell } = deps;
  return {
    async claim(threadId, me) {
      const answer = await scripts.call<{
        outcome: string;
        epoch: number;
        owner: string;
        isLastAttempt: boolean;
      }>(lua.claim, {
        threadId,
        me,
      });
      if (answer.outcome === 'mine') {
        const { epoch, isLastAttempt } = answer;
        return { outcome: 'mine', hold: { threadId, me, epoch }, isLastAttempt };
      }
      if (answer.outcome === 'owned') return { outcome: 'owned', owner: answer.owner };
      return { outcome: answer.outcome as 'dead' | 'gone' };
    },
    async begin(hold, nonce) {
      const answer = await scripts.call<Begun>(lua.begin, { ...hold, nonce });
      if (answer.outcome === 'fenced') return { outcome: 'fenced' };
      if (answer.outcome === 'empty') {
        return {
          outcome: 'empty',
          prewarm: answer.thread && heldThreadOf(hold, { thread: answer.thread, setup: answer.setup }),
        };
      }
      return {
        outcome: answer.outcome,
        turn: turnOf(hold, nonce, answer as Begun & { run: Hash; thread: Hash }),
      };
    },
    async emit(turn, { counter, events, path }) {
      const { hold, runId } = turn;
      const sent = events.map(({ type, live, delivered, taskId, ...data }) => ({
        type,
        live,
        delivered,
        ...(taskId ? { task: { taskId, fields: data } } : { data: jsonOf({ runId, ...data }) }),
      }));
      const answer = await scripts.call<{ outcome: string; cancel?: boolean; interrupt?: boolean }>(
        lua.emit,
        {
          ...hold,
          counter,
          runId,
          path,
          events: sent,
        },
      );
      return {
        lost: answer.outcome === 'fenced',
        cancel: answer.cancel === true,
        interrupt: answer.interrupt === true,
      };
    },
    async commit(turn, ending) {
      const { hold, runId, seq } = turn;
      const { status, error, usage, timings, files, ...rest } = ending;
      const shown = { runId, status, result: ending.result, error, usage, timings, path: ending.path };
      const answer = await scripts.call<Committed>(lua.commit, {
        ...hold,
        ...rest,
        runId,
        seq,
        status,
        error: textOf(error),
        usage: textOf(usage),
        timings: textOf(timings),
        files: files && storedFilesOf(runId, files),
        event: { type: finalEventOf(status), data: jsonOf(shown) },
      });
      if (answer.outcome !== 'ok' && answer.outcome !== 'repeat') return undefined;
      for (const { threadId, owner, kind } of listOf(answer.rung)) void doorbell.ring(threadId, owner, kind);
      return { remaining: answer.remaining ?? 0, ...(answer.narrowed && { narrowed: true }) };
    },
    async handBack({ hold, nonce, runId }, { files, filesLost } = {}) {
      const stored = files && storedFilesOf(runId, files);
      await scripts.call(lua['hand-back'], { ...hold, nonce, files: stored, filesLost });
    },
    async release(hold, { ring } = { ring: true }) {
      const { waiting } = await scripts.call<{ waiting?: number }>(lua.release, { ...hold });
      if (waiting && ring) void doorbell.ring(hold.threadId);
    },
    async catchUp(me, held) {
      const [workerId = ''] = me.split('#');
      const found = await scripts.call<{ [Field in keyof Missed]?: Missed[Field] }>(lua['catch-up'], {
        me,
        workerId,
        held,
      });
      return {
        lost: listOf(found.lost),
        cancel: listOf(found.cancel),
        interrupt: listOf(found.interrupt),
        drain: found.drain === true,
      };
    },
    async raiseEpoch(hold) {
      const { outcome, epoch } = await scripts.call<{ outcome: string; epoch: number }>(
        lua['raise-epoch'],
        hold,
      );
      return outcome === 'ok' ? { ...hold, epoch } : undefined;
    },
  };
}

interface Begun {
  outcome: 'run' | 'cancelled' | 'interrupted' | 'park' | 'empty' | 'fenced';
  run?: Hash;
  thread?: Hash;
  task?: Hash;
  setup?: Setup;
  died?: { nonce: string; begunAt?: string; seenAt?: string };
}

interface Setup {
  agent?: WorkProfile;
  skill?: WorkProfile;
  /** JSON text. */
  tools?: string;
}

interface Committed {
  outcome: 'ok' | 'repeat' | 'fenced' | 'out_of_order' | 'gone';
  remaining?: number;
  narrowed?: boolean;
  rung?: { threadId: string; kind: string; owner?: string }[];
}

function heldThreadOf(
  hold: Hold,
  { thread, setup = {}, run = {} }: { thread: Hash; setup?: Setup | undefined; run?: Hash },
): HeldThread {
  const { agent, skill } = setup;
  return {
    hold,
    shownId: thread.alias ?? hold.threadId,
    tenant: thread.tenant ?? '',
    model: run.model ?? skill?.model ?? thread.model ?? agent?.model,
    systemPrompt: thread.systemPrompt,
    allowedTools: setup.tools === undefined ? undefined : JSON.parse(setup.tools),
    runTools: run.tools,
    agent: thread.agent === undefined ? undefined : { name: thread.agent, instructions: agent?.instructions },
    skill:
      thread.skill === undefined
        ? undefined
        : { name: thread.skill, instructions: skill?.instructions, commands: skill?.commands },
    // Resuming a full transcript would lose everything after its end, at every attempt.
    sdkSessionId: thread.transcript === 'full' ? undefined : thread.sdkSessionId,
    finishedRuns: Number(thread.done ?? 0),
    threadTaskId: thread.taskId,
    workspace: workspaceOf(thread),
    files: thread.files,
  };
}

function turnOf(
  hold: Hold,
  nonce: string,
  { run, thread, task, setup, died }: Begun & { run: Hash; thread: Hash },
): Turn {
  return {
    ...heldThreadOf(hold, { thread, setup, run }),
    nonce,
    runId: run.runId ?? '',
    seq: Number(run.seq),
    kind: run.kind as Turn['kind'],
    attempt: Number(thread.attempt),
    input: run.input ?? '',
    filesIn: run.filesIn,
    followed: run.skill === undefined ? undefined : JSON.parse(run.skill),
    task: task?.taskId ? taskOf(task) : undefined,
    failure: run.failure === undefined ? undefined : JSON.parse(run.failure),
    createdAtMs: Number(run.createdAt),
    trace: run.trace,
    filesLost: thread.filesLost !== undefined,
    died: died && deadAttemptOf(died, Number(thread.begunAt)),
  };
}

function deadAttemptOf(
  { nonce, begunAt, seenAt }: NonNullable<Begun['died']>,
  nextBegunAtMs: number,
): DeadAttempt {
  const seenAtMs = Number(seenAt ?? begunAt ?? nextBegunAtMs);
  return {
    nonce,
    begunAtMs: Number(begunAt ?? seenAtMs),
    seenAtMs,
    silentMs: Math.max(0, nextBegunAtMs - seenAtMs),
  };
}
