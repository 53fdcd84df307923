/**
 * One turn: hooks, session, events, commit.
 *
 * This folder:
 *   start-turn.ts     claims the thread and begins its turn
 *   prompt.ts         what the model is asked
 *   end-turn.ts       how a turn ends: its result, or the thread given back
 *   skill-outputs.ts  output of the commands of skills, for the prompt
 *   emitter.ts        writes the events of a turn
 *   task-outcome.ts   what follows for a task from the end of its turn
 *   turn-scope.ts     the turn within which plugin code runs
 *   invoker.ts        `ctx.invoker` of plugins at a worker
 *   trace-turn.ts     the spans of a turn
 *   ask-person.ts     questions of tools to the person at the thread
 */
import { AppError, type ErrorBody, type SessionPath, toAppError } from '@harness/contracts';
import type { Ending, Questions, Turn } from '@harness/dispatch';
import type { Logger } from '@harness/runtime';
import type { TurnUsage } from '../session/model-usage.ts';
import type { Lent } from '../session/pool/session-lending.ts';
import type { ModelResponse, Prompt } from '../session/session.ts';
import { type Kept, keepFiles } from '../workspace/keep-files.ts';
import { askPerson } from './ask-person.ts';
import { createEmitter, type Emitter } from './emitter.ts';
import {
  type Asked,
  commitTurn,
  type EndDeps,
  endStopped,
  failTurn,
  storeConversation,
  type TurnEnd,
  type Writing,
  withWrite,
} from './end-turn.ts';
import { type PromptDeps, promptOf } from './prompt.ts';
import { afterReview, afterWork } from './task-outcome.ts';
import { type TurnScope, turnScope } from './turn-scope.ts';

/** What a turn needs. */
export interface TurnDeps extends EndDeps, Omit<PromptDeps, 'signal' | 'hooks'> {
  logger: Logger;
  /** False when the worker may no longer own its threads. */
  healthy(): boolean;
  /** Returns the thread's session: warm, resumed or new. Throws before anything was sent to the model. */
  lend(turn: Turn): Promise<Lent>;
  /** Returns the next event counter of the thread's epoch. */
  nextCounter(threadId: string): number;
  questions: Questions;
  /** Called for every turn that got a session. */
  onPath(path: SessionPath): void;
  /** Called with what the model used. */
  onUsed(used: TurnUsage): void;
}

/** Runs one turn. Throws when it failed before the prompt was sent; the caller hands the turn back then. */
export async function runTurn(turn: Turn, stop: AbortController, rest: TurnDeps): Promise<TurnEnd> {
  const deps = withWrite(rest);
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

const emitterOf = (turn: Turn, stop: AbortController, deps: Writing<TurnDeps>): Emitter =>
  createEmitter({
    lease: { emit: (of, batch) => deps.write(() => deps.lease.emit(of, batch)) },
    turn,
    nextCounter: () => deps.nextCounter(turn.hold.threadId),
    onLost: () => stop.abort('lost'),
    onCancel: () => stop.abort('cancelled'),
    onInterrupt: () => stop.abort('interrupted'),
  });

type AskingDeps = Writing<TurnDeps> & {
  /**
   * Called just before the model or the review hooks get the prompt: from now on a failure counts as an
   * attempt.
   */
  onAsked(): void;
};

interface AskingParts {
  turn: Turn;
  stop: AbortController;
  deps: AskingDeps;
}

/** Sends the message to the model, and ends the turn with its response. */
async function modelTurn(begun: Turn, stop: AbortController, deps: AskingDeps): Promise<TurnEnd> {
  const startedAt = performance.now();
  const { session, path, hold } = await deps.lend(begun);
  const turn = { ...begun, hold };
  const parts = { turn, stop, deps };
  const emitter = emitterOf(turn, stop, deps);
  const sessionMs = performance.now() - startedAt;
  deps.onPath(path);
  emitter.recordPath(path);
  // While a session was opened the thread may have been lost; a warm one is used at once.
  if (path !== 'warm') await emitter.flush();

  const prompt = await promptOf(turn, { session, path }, { ...deps, signal: stop.signal });
  if (stop.signal.aborted || !deps.healthy()) return endStopped(parts, undefined);

  deps.onAsked();
  const askedAt = performance.now();
  let firstTokenMs: number | null = null;
  const responding = session.ask({
    ...prompt,
    onEvent({ isFailure, ...event }) {
      firstTokenMs ??= performance.now() - askedAt;
      emitter.push(isFailure ? deps.scrubber.json(event) : event);
    },
    onQuestion: questionsOf(parts, emitter),
  });
  const response = await untilStopped(responding, stop.signal);
  await emitter.flush();
  const timings = (): Ending['timings'] => ({
    queuedMs: Math.max(0, Math.round(Date.now() - turn.createdAtMs - (performance.now() - startedAt))),
    sessionMs: Math.round(sessionMs),
    firstTokenMs: firstTokenMs === null ? null : Math.round(firstTokenMs),
    totalMs: Math.round(performance.now() - startedAt),
  });
  const asked = { session, responding, path, timings, onUsed: deps.onUsed };

  const isStopped = stop.signal.aborted || !deps.healthy();
  if (isStopped && !isAnswered(response, stop.signal)) return endStopped(parts, asked);
  if (response === undefined || response instanceof Error) return endBroken(parts, asked, response);
  deps.onUsed(response);
  return endResponded(parts, asked, response);
}

/**
 * Whether a turn that is stopped has its answer already, and only its worker had to stop: then the answer is committed, and the
 * fence decides whether it counts. The model is not asked again for what is known.
 */
function isAnswered(response: ModelResponse | Error | undefined, { aborted, reason }: AbortSignal): boolean {
  if (response === undefined || response instanceof Error || response.outcome === 'error') return false;
  return !aborted || reason === 'unhealthy' || reason === 'drain';
}

/** Passes questions of tools to the people who follow the thread. */
function questionsOf({ turn, stop, deps }: AskingParts, emitter: Emitter): NonNullable<Prompt['onQuestion']> {
  return (request, signal) =>
    askPerson(
      request,
      { turn, emitter, questions: deps.questions },
      AbortSignal.any([signal, stop.signal]),
    ).catch((error) => {
      deps.logger.warn(
        { err: error, threadId: turn.hold.threadId },
        'the question of a tool is declined: Redis did not respond',
      );
      return { action: 'decline' };
    });
}

/** The session has ended without a response: the run fails at a limit of the sandbox; otherwise it is tried again. */
async function endBroken(
  { turn, deps }: AskingParts,
  { path, timings }: Asked,
  error: Error | undefined,
): Promise<TurnEnd> {
  const { threadId } = turn.hold;
  deps.evict(threadId);
  if (error instanceof AppError && error.code === 'sandbox_limit') {
    const found = { status: 'error' as const, error: error.toBody(), timings: timings(), path };
    return failTurn(turn, { ...found, filesLost: true }, deps);
  }
  deps.logger.warn(
    { err: error, threadId, runId: turn.runId, attempt: turn.attempt },
    'the agent process died',
  );
  return 'again';
}

/** Stores the files of the turn and commits the model response, or its failure, as the result of the run. */
async function endResponded(
  { turn, stop, deps }: AskingParts,
  { session, path, timings }: Asked,
  response: ModelResponse,
): Promise<TurnEnd> {
  const { threadId } = turn.hold;
  const kept = await keepFiles(session).catch((error: unknown): Kept & { error?: AppError } => ({
    lives: false,
    files: undefined,
    filesLost: true,
    error: toAppError(error),
  }));
  if (!kept.lives) await storeConversation({ session }, deps);
  const giveBack = () => (kept.lives ? deps.give(threadId) : deps.evict(threadId));
  const warmForMs = kept.lives ? deps.sessionTtlMs : undefined;
  const { files, filesLost } = kept;
  const rest = { usage: response.usage, timings: timings(), path, warmForMs, files, filesLost };
  const fail = async (error: ErrorBody) => {
    const end = await failTurn(turn, { ...rest, status: 'error', error }, deps);
    giveBack();
    return end;
  };
  if ('error' in kept && kept.error) {
    deps.logger.warn(
      { err: kept.error, threadId, runId: turn.runId },
      'the files of the turn are not stored',
    );
    return fail(kept.error.toBody());
  }
  if (response.outcome === 'error') return fail({ code: 'model_error', message: response.message });

  await deps.hooks.afterInvoke(turn.shownId, response.text);
  if (stop.signal.reason === 'lost') return endStopped({ turn, stop, deps }, undefined);
  const consequence = turn.task ? afterWork(turn.task, turn.runId, response.text) : undefined;
  const end = await commitTurn(
    turn,
    { ...rest, status: 'success', result: response.text, ...consequence },
    deps,
  );
  giveBack();
  if (end === 'committed') await deps.hooks.message(turn.shownId, 'assistant', response.text);
  return end;
}

/** A review is a separate turn in the child thread's mailbox: it runs the `onTaskComplete` hooks. */
async function reviewTurn(turn: Turn, stop: AbortController, deps: AskingDeps): Promise<TurnEnd> {
  const parts = { turn, stop, deps };
  const emitter = emitterOf(turn, stop, deps);
  const { task } = turn;
  if (task?.status !== 'working') return commitTurn(turn, { status: 'cancelled' }, deps);
  if (turn.failure) return failTurn(turn, { status: 'error', error: turn.failure }, deps);
  emitter.push({ type: 'task.review_started', taskId: task.taskId, iteration: task.iteration });
  await emitter.flush();
  if (stop.signal.aborted) return endStopped(parts, undefined);
  deps.onAsked();
  // The feedback may be the text of an exception: a review that fails does not accept.
  const verdict = deps.scrubber.json(await deps.hooks.taskComplete(turn.shownId, task.taskId, turn.input));
  if (stop.signal.aborted || !deps.healthy()) return endStopped(parts, undefined);
  const result = verdict.accepted ? 'accepted' : `not accepted: ${verdict.feedback}`;
  const consequence = afterReview(task, turn.runId, { result: turn.input, verdict });
  return commitTurn(turn, { status: 'success', result, ...consequence }, deps);
}

/**
 * Returns the model response, the error that it failed with, or undefined when the turn was stopped first.
 */
async function untilStopped(
  responding: Promise<ModelResponse>,
  signal: AbortSignal,
): Promise<ModelResponse | Error | undefined> {
  let onAbort: (() => void) | undefined;
  const abort = new Promise<undefined>((resolve) => {
    onAbort = () => resolve(undefined);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) resolve(undefined);
  });
  try {
    return await Promise.race([responding.catch(toAppError), abort]);
  } finally {
    if (onAbort) signal.removeEventListener('abort', onAbort);
  }
}
