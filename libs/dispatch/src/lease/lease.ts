/**
 * A worker's hold on threads: claim -> begin -> emit … -> commit, or hand back; release at the end.
 *
 * Thread, as its worker sees it:
 *   free      --claim-->     held       (epoch + 1 when the owner changes)
 *   held      --begin-->     in a turn  (attempt + 1 per nonce)
 *   in a turn --commit-->    held       (done + 1)
 *   in a turn --hand back--> held       (attempt - 1: nobody's fault)
 *   held      --release-->   free
 *   any       --my liveness key expires, another claims--> lost: every further step answers `fenced`
 *
 * D1 a message is done once (commit needs seq = done + 1) · D2 in order · D3, D4 only the owner at its epoch writes.
 */

import {
  type ErrorBody,
  type FinalRunStatus,
  finalEventOf,
  jsonOf,
  type NewEvent,
  type SessionPath,
  type Task,
  type Timings,
  type Usage,
} from '@harness/contracts';
import type { WorkProfile } from '../gateway/profiles.ts';
import { type Hash, taskOf } from '../redis/records.ts';
import { listOf, type Scripts, scriptsBeside } from '../redis/scripts.ts';
import type { Mail } from '../thread/mail.ts';
import type { Doorbell } from './doorbell.ts';

const lua = scriptsBeside(import.meta.url, {
  confirmed: ['commit'],
  unconfirmed: ['claim', 'begin', 'emit', 'hand-back', 'release', 'look', 'raise-epoch'],
});

/** A thread held at an epoch. */
export interface Hold {
  threadId: string;
  /** workerId#incarnation */
  me: string;
  epoch: number;
}

export type Claim =
  /** `isLastAttempt`: the thread's next turn has spent all its attempts but one. */
  | { outcome: 'mine'; hold: Hold; isLastAttempt: boolean }
  | { outcome: 'owned'; owner: string }
  | { outcome: 'dead' | 'gone' };

/** What a session of the thread is made for and from. */
export interface HeldThread {
  hold: Hold;
  /** The id by which callers and plugins know the thread. */
  shownId: string;
  tenant: string;
  /** Of the run, else of the active skill, else of the thread, else of its agent. */
  model: string | undefined;
  systemPrompt: string | undefined;
  /** The thread's own, of those its agent's, of those its active skill's; undefined = all. */
  allowedTools: string[] | undefined;
  /** What the run's own tools were narrowed to by the key that sent it (JSON text); undefined = not narrowed. */
  runTools: string | undefined;
  /** `instructions` is undefined when there is no such agent any more. */
  agent: { name: string; instructions: string | undefined } | undefined;
  /** The active skill. `instructions` is undefined when there is no such skill any more. */
  skill: { name: string; instructions: string | undefined } | undefined;
  /** The conversation to resume; undefined when there is none, or when its transcript has outgrown the store. */
  sdkSessionId: string | undefined;
  /** Runs of this thread that ended before. */
  finishedRuns: number;
  /** The task that the thread was made for. */
  threadTaskId: string | undefined;
}

/** One run, begun: what a turn needs to know. */
export interface Turn extends HeldThread {
  nonce: string;
  runId: string;
  seq: number;
  kind: 'message' | 'delegate' | 'feedback' | 'review' | 'notification';
  attempt: number;
  input: string;
  /** The task that this run works on or reviews. */
  task: Task | undefined;
  /** Of a review: there is nothing to review, the work failed (on the bus). */
  failure?: ErrorBody | undefined;
  createdAtMs: number;
}

export type Begin =
  | { outcome: 'run' | 'cancelled' | 'interrupted' | 'park'; turn: Turn }
  | { outcome: 'empty'; prewarm?: HeldThread | undefined }
  | { outcome: 'fenced' };

export interface Ending {
  status: FinalRunStatus;
  result?: string | undefined;
  error?: { code: string; message: string } | undefined;
  usage?: Usage | undefined;
  timings?: Timings | undefined;
  path?: SessionPath | undefined;
  /** The session stays warm for this long. */
  warmForMs?: number | undefined;
  /** Outgoing mail; with a task, sent only while the task is open. */
  mail?: Mail[] | undefined;
  task?: TaskChange | undefined;
}

export interface TaskChange {
  taskId: string;
  /** Compared: a change made for another iteration does nothing. */
  iteration: number;
  set: Record<string, string | number>;
  event?: 'task.review_ended' | undefined;
  fields?: object | undefined;
}

export interface Lease {
  claim(threadId: string, me: string): Promise<Claim>;
  begin(hold: Hold, nonce: string): Promise<Begin>;
  /**
   * `lost` = fenced: stop at once. `cancel`, `interrupt` = somebody asked to end this run. `counter` rises by one a call
   * in an epoch.
   */
  emit(
    turn: Turn,
    counter: number,
    events: LeaseEvent[],
    path?: SessionPath,
  ): Promise<{ lost: boolean; cancel: boolean; interrupt: boolean }>;
  /**
   * `remaining` messages wait. `narrowed`: a skill took tools from the session while the run lasted. Undefined = fenced,
   * or Redis has lost the message: nothing was committed.
   */
  commit(turn: Turn, ending: Ending): Promise<{ remaining: number; narrowed?: true } | undefined>;
  handBack(turn: Turn): Promise<void>;
  /** Rings others for mail that waits, unless told not to: then the sweep does. */
  release(hold: Hold, options?: { ring: boolean }): Promise<void>;
  /** What became of these threads and their runs while the worker could not be told. */
  look(me: string, held: readonly HeldNow[]): Promise<Looked>;
  /** A new process takes the session's place: the hold with its next epoch, or undefined when it is lost. */
  raiseEpoch(hold: Hold): Promise<Hold | undefined>;
}

/** A thread that a worker believes to hold, and the run that it has under way there. */
export interface HeldNow {
  threadId: string;
  epoch: number;
  runId?: string | undefined;
}

export interface Looked {
  /** Threads that have another owner now, or none, or are deleted. */
  lost: string[];
  /** Runs that somebody asked to end. */
  cancel: string[];
  interrupt: string[];
  /** Somebody asked this worker to finish and leave. */
  drain: boolean;
}

export interface LeaseEvent extends NewEvent {
  /** Not stored, only shown to those who watch. */
  live?: boolean;
  /** The tool-use id whose answer the model has now seen. */
  delivered?: string;
  /** An event of this task: shown on its parent's thread as well. */
  taskId?: string;
}

const textOf = (value: object | undefined) => value && jsonOf(value);

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
    async emit(turn, counter, events, path) {
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
      const { status, error, usage, timings, ...rest } = ending;
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
        event: { type: finalEventOf(status), data: jsonOf(shown) },
      });
      if (answer.outcome !== 'ok' && answer.outcome !== 'repeat') return undefined;
      for (const { threadId, owner, kind } of listOf(answer.rung)) void doorbell.ring(threadId, owner, kind);
      return { remaining: answer.remaining ?? 0, ...(answer.narrowed && { narrowed: true }) };
    },
    async handBack(turn) {
      await scripts.call(lua['hand-back'], { ...turn.hold, nonce: turn.nonce });
    },
    async release(hold, { ring } = { ring: true }) {
      const { waiting } = await scripts.call<{ waiting?: number }>(lua.release, { ...hold });
      if (waiting && ring) void doorbell.ring(hold.threadId);
    },
    async look(me, held) {
      const [workerId = ''] = me.split('#');
      const found = await scripts.call<{ [Field in keyof Looked]?: Looked[Field] }>(lua.look, {
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
    skill: thread.skill === undefined ? undefined : { name: thread.skill, instructions: skill?.instructions },
    // A full one would lose everything after its end, again and again.
    sdkSessionId: thread.transcript === 'full' ? undefined : thread.sdkSessionId,
    finishedRuns: Number(thread.done ?? 0),
    threadTaskId: thread.taskId,
  };
}

function turnOf(
  hold: Hold,
  nonce: string,
  { run, thread, task, setup }: { run: Hash; thread: Hash; task?: Hash; setup?: Setup },
): Turn {
  return {
    ...heldThreadOf(hold, { thread, setup, run }),
    nonce,
    runId: run.runId ?? '',
    seq: Number(run.seq),
    kind: run.kind as Turn['kind'],
    attempt: Number(thread.attempt),
    input: run.input ?? '',
    task: task?.taskId ? taskOf(task) : undefined,
    failure: run.failure === undefined ? undefined : JSON.parse(run.failure),
    createdAtMs: Number(run.createdAt),
  };
}
