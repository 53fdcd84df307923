/**
 * One turn: hooks, session, events, commit.
 *
 * Ends of a turn:
 *   committed    the run has its result (D1): success or failure
 *   again        the agent process died, or Redis did not take the result: the attempt counts
 *   handed back  the worker drains, or is unhealthy and fenced itself: the attempt does not count
 *   lost         another worker has the thread: nothing more is written (D3, D4)
 *
 * This folder:
 *   emitter.ts        writes the events of a turn
 *   task-outcome.ts   what follows for a task from the end of its turn
 *   turn-scope.ts     the turn within which plugin code runs
 *   invoker.ts        `ctx.invoker` of plugins at a worker
 */
import { type SessionPath, toAppError } from '@harness/contracts';
import { type Ending, type Lease, promptUuidOf, type Turn, untilReached } from '@harness/dispatch';
import type { HookRunner } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';
import type { Answer, Session } from '../session/session.ts';
import type { Lent } from '../session/session-lending.ts';
import { createEmitter, type Emitter } from './emitter.ts';
import { afterFailure, afterReview, afterWork, type Failure } from './task-outcome.ts';
import { type TurnScope, turnScope } from './turn-scope.ts';

/** How a turn ended; see the head of this file. */
export type TurnEnd = 'committed' | 'again' | 'handed back' | 'lost';

/** Why a turn is stopped from outside. */
export type StopReason = 'cancelled' | 'interrupted' | 'timeout' | 'drain' | 'unhealthy' | 'lost';

/** What a turn needs. */
export interface TurnDeps {
  lease: Lease;
  hooks: HookRunner;
  logger: Logger;
  turnTimeoutMs: number;
  /** False when the worker may no longer own its threads. */
  healthy(): boolean;
  /** Returns the thread's session: warm, resumed or new. Throws before anything was sent to the model. */
  lend(turn: Turn): Promise<Lent>;
  /** How long a session stays warm after a turn, ms. */
  sessionTtlMs: number;
  /** Returns the thread's session to the pool. */
  give(threadId: string): void;
  /** Ends the thread's session. */
  evict(threadId: string): void;
  /** Whether the session's transcript already has the run's message. */
  wasSent(turn: Turn, session: Session): Promise<boolean>;
  /** A skill narrowed the tools of the session during the turn: it must list them again. */
  relist(threadId: string): void;
  /** Returns the next event counter of the thread's epoch. */
  nextCounter(threadId: string): number;
  /** Called after every commit. `remaining`: messages that wait in the mailbox. */
  onCommitted(turn: Turn, ending: Ending, remaining: number): void;
  /** Called for every turn that got a session. */
  onPath(path: SessionPath): void;
}

/** Time for the session to end its turn after an interrupt, ms; then it is killed. */
const interruptGraceMs = 5_000;
/** Minimum time for writing a turn's result to Redis, ms, even after the turn timeout. */
const leastTellMs = 30_000;

const continuation =
  'The agent process ended in the middle of your last turn. Continue that turn now. Tool calls without a result may or may not have happened.';

interface Told extends TurnDeps {
  /**
   * Runs a step that must reach Redis: repeats it while Redis is unreachable or full, until the turn's time
   * is over.
   */
  tell<T>(step: () => Promise<T>): Promise<T>;
}

function telling(deps: TurnDeps): Told {
  const endsAt = performance.now() + deps.turnTimeoutMs;
  const tell: Told['tell'] = (step) => {
    const until = Math.max(endsAt, performance.now() + leastTellMs);
    return untilReached(step, () => performance.now() > until);
  };
  return { ...deps, tell };
}

/** Runs one turn. Throws when it failed before the prompt was sent; the caller hands the turn back then. */
export async function runTurn(turn: Turn, stop: AbortController, rest: TurnDeps): Promise<TurnEnd> {
  const deps = telling(rest);
  const scope: TurnScope = {
    tenant: turn.tenant,
    threadId: turn.hold.threadId,
    taskId: turn.task?.taskId,
    signal: stop.signal,
  };
  const timer = setTimeout(() => stop.abort('timeout'), deps.turnTimeoutMs);
  let asked = false;
  const onAsked = () => {
    asked = true;
  };
  try {
    return await turnScope.run(scope, () =>
      (turn.kind === 'review' ? reviewTurn : modelTurn)(turn, stop, { ...deps, onAsked }),
    );
  } catch (error) {
    if (!asked) throw error;
    // The model or the review hooks have the prompt: this attempt counts, and the next one resumes the
    // transcript.
    deps.logger.error(
      { err: error, threadId: turn.hold.threadId, runId: turn.runId },
      'turn failed after its prompt was sent',
    );
    deps.evict(turn.hold.threadId);
    return 'again';
  } finally {
    clearTimeout(timer);
  }
}

const emitterOf = (turn: Turn, stop: AbortController, deps: Told): Emitter =>
  createEmitter({
    lease: { emit: (of, batch) => deps.tell(() => deps.lease.emit(of, batch)) },
    turn,
    nextCounter: () => deps.nextCounter(turn.hold.threadId),
    onLost: () => stop.abort('lost'),
    onCancel: () => stop.abort('cancelled'),
    onInterrupt: () => stop.abort('interrupted'),
  });

const refusals = {
  cancelled: { code: 'turn_cancelled', message: 'The run was cancelled while it waited.' },
  interrupted: { code: 'turn_cancelled', message: 'A later message interrupted the run before it began.' },
  park: {
    code: 'attempts_exhausted',
    message: 'The agent process died in every attempt at this run. Send the message again to retry.',
  },
} as const;

/**
 * Commits a run that must not start: cancelled or interrupted while it waited, or parked after too many
 * crashes.
 */
export function refuseTurn(turn: Turn, outcome: keyof typeof refusals, deps: TurnDeps): Promise<TurnEnd> {
  const status = outcome === 'park' ? 'error' : outcome;
  return fail(turn, { status, error: refusals[outcome] }, deps);
}

/** Hands back a turn whose prompt was not sent: the attempt does not count. */
export const handBack = (turn: Turn, deps: TurnDeps): Promise<void> =>
  telling(deps).tell(() => deps.lease.handBack(turn));

/** Commits a failure of the run. */
export const fail = (turn: Turn, failure: Failure, deps: TurnDeps): Promise<TurnEnd> =>
  failTurn(turn, failure, telling(deps));

/** Commits a failure and its consequence for the task. */
async function failTurn(turn: Turn, failure: Failure & Partial<Ending>, deps: Told): Promise<TurnEnd> {
  const consequence = turn.task ? afterFailure(turn.task, turn.runId, failure) : undefined;
  const end = await commit(turn, { ...failure, ...consequence }, deps);
  if (end === 'committed' && turn.task)
    await deps.hooks.taskFailed(turn.shownId, turn.task.taskId, failure.error);
  return end;
}

interface TurnParts {
  turn: Turn;
  stop: AbortController;
  deps: Told;
}

type AskingDeps = Told & {
  /**
   * Called just before the model or the review hooks get the prompt: from now on a failure counts as an
   * attempt.
   */
  onAsked(): void;
};

async function modelTurn(begun: Turn, stop: AbortController, deps: AskingDeps): Promise<TurnEnd> {
  const startedAt = performance.now();
  const { threadId } = begun.hold;
  const { session, path, hold } = await deps.lend(begun);
  const turn = { ...begun, hold };
  const parts = { turn, stop, deps };
  const emitter = emitterOf(turn, stop, deps);
  const sessionMs = performance.now() - startedAt;
  deps.onPath(path);
  emitter.tellPath(path);
  await emitter.flush();

  // Only the transcript tells whether an earlier attempt sent the prompt: the SDK never responds to the same
  // message id twice.
  const sent = path === 'resume' && (await deps.wasSent(turn, session));
  const about = { runId: turn.runId, path, finishedRuns: turn.finishedRuns, kind: turn.kind };
  const prompt = sent ? continuation : await deps.hooks.beforeInvoke(turn.shownId, turn.input, about);
  if (stop.signal.aborted || !deps.healthy()) return stopped(parts, undefined);

  deps.onAsked();
  const askedAt = performance.now();
  let firstTokenMs: number | null = null;
  const answering = session.ask({
    prompt,
    uuid: promptUuidOf(turn, sent),
    onEvent(event) {
      firstTokenMs ??= performance.now() - askedAt;
      emitter.push(event);
    },
  });
  const answer = await untilStopped(answering, stop.signal);
  await emitter.flush();
  const timings = (): Ending['timings'] => ({
    queuedMs: Math.max(0, Math.round(Date.now() - turn.createdAtMs - (performance.now() - startedAt))),
    sessionMs: Math.round(sessionMs),
    firstTokenMs: firstTokenMs === null ? null : Math.round(firstTokenMs),
    totalMs: Math.round(performance.now() - startedAt),
  });

  if (stop.signal.aborted || !deps.healthy()) {
    return stopped(parts, { session, answering, path, timings });
  }
  if (answer === undefined || answer instanceof Error) {
    deps.logger.warn(
      { err: answer, threadId, runId: turn.runId, attempt: turn.attempt },
      'the agent process died',
    );
    deps.evict(threadId);
    return 'again';
  }
  const rest = { usage: answer.usage, timings: timings(), path, warmForMs: deps.sessionTtlMs };
  if (answer.outcome === 'error') {
    const error = { code: 'model_error', message: answer.message };
    const end = await failTurn(turn, { ...rest, status: 'error', error }, deps);
    deps.give(threadId);
    return end;
  }
  await deps.hooks.afterInvoke(turn.shownId, answer.text);
  if (stop.signal.reason === 'lost') return stopped(parts, undefined);
  const consequence = turn.task ? afterWork(turn.task, turn.runId, answer.text) : undefined;
  const end = await commit(turn, { ...rest, status: 'success', result: answer.text, ...consequence }, deps);
  deps.give(threadId);
  if (end === 'committed') await deps.hooks.message(turn.shownId, 'assistant', answer.text);
  return end;
}

/** A review is a separate turn in the child thread's mailbox: it runs the `onTaskComplete` hooks. */
async function reviewTurn(turn: Turn, stop: AbortController, deps: AskingDeps): Promise<TurnEnd> {
  const parts = { turn, stop, deps };
  const emitter = emitterOf(turn, stop, deps);
  const { task } = turn;
  if (task?.status !== 'working') return commit(turn, { status: 'cancelled' }, deps);
  if (turn.failure) return failTurn(turn, { status: 'error', error: turn.failure }, deps);
  emitter.push({ type: 'task.review_started', taskId: task.taskId, iteration: task.iteration });
  await emitter.flush();
  if (stop.signal.aborted) return stopped(parts, undefined);
  deps.onAsked();
  const verdict = await deps.hooks.taskComplete(turn.shownId, task.taskId, turn.input);
  if (stop.signal.aborted || !deps.healthy()) return stopped(parts, undefined);
  const result = verdict.accepted ? 'accepted' : `not accepted: ${verdict.feedback}`;
  const consequence = afterReview(task, turn.runId, { result: turn.input, verdict });
  return commit(turn, { status: 'success', result, ...consequence }, deps);
}

interface Asked {
  session: Session;
  answering: Promise<Answer>;
  path: SessionPath;
  timings(): Ending['timings'];
}

/** Ends a turn that was stopped from outside; `asked` is set when the model already had the prompt. */
async function stopped({ turn, stop, deps }: TurnParts, asked: Asked | undefined): Promise<TurnEnd> {
  const { threadId } = turn.hold;
  const reason: StopReason = stop.signal.aborted ? stop.signal.reason : 'unhealthy';
  if (reason === 'lost') {
    deps.evict(threadId);
    return 'lost';
  }
  if (reason === 'drain' || reason === 'unhealthy') {
    deps.evict(threadId);
    await deps.tell(() => deps.lease.handBack(turn));
    return 'handed back';
  }
  const kept = asked !== undefined && (await interrupted(asked));
  if (!kept) deps.evict(threadId);
  const ends = {
    timeout: { code: 'turn_timeout', message: `The turn did not end within ${deps.turnTimeoutMs} ms.` },
    cancelled: { code: 'turn_cancelled', message: 'The run was cancelled.' },
    interrupted: { code: 'turn_cancelled', message: 'A later message interrupted the run.' },
  };
  const warmForMs = kept ? deps.sessionTtlMs : undefined;
  const rest = asked ? { timings: asked.timings(), path: asked.path, warmForMs } : {};
  const end = await failTurn(turn, { ...rest, status: reason, error: ends[reason] }, deps);
  if (kept) deps.give(threadId);
  return end;
}

/** Interrupts the session. Returns true when it ended its turn in time and can be kept. */
async function interrupted({ session, answering }: Asked): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), interruptGraceMs);
  });
  const settled = session
    .interrupt()
    .then(() => answering)
    .then(
      () => true,
      () => false,
    );
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Returns the model response, the error that it failed with, or undefined when the turn was stopped first.
 */
async function untilStopped(
  answering: Promise<Answer>,
  signal: AbortSignal,
): Promise<Answer | Error | undefined> {
  let onAbort: (() => void) | undefined;
  const abort = new Promise<undefined>((resolve) => {
    onAbort = () => resolve(undefined);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) resolve(undefined);
  });
  try {
    return await Promise.race([answering.catch(toAppError), abort]);
  } finally {
    if (onAbort) signal.removeEventListener('abort', onAbort);
  }
}

async function commit(turn: Turn, ending: Ending, deps: Told): Promise<TurnEnd> {
  const done = await deps.tell(() => deps.lease.commit(turn, ending));
  if (!done) return 'lost';
  deps.onCommitted(turn, ending, done.remaining);
  if (done.narrowed) deps.relist(turn.hold.threadId);
  for (const mail of ending.mail ?? []) {
    if (mail.kind !== 'review') await deps.hooks.message(mail.threadId, 'system', mail.input);
  }
  return 'committed';
}
