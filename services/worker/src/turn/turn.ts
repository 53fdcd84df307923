/**
 * One turn: hooks, session, events, commit.
 *
 * This folder:
 *   start-turn.ts     claims the thread and begins its turn
 *   end-turn.ts       how a turn ends: its result, or the thread given back
 *   skill-outputs.ts  output of the commands of skills, for the prompt
 *   emitter.ts        writes the events of a turn
 *   task-outcome.ts   what follows for a task from the end of its turn
 *   turn-scope.ts     the turn within which plugin code runs
 *   invoker.ts        `ctx.invoker` of plugins at a worker
 *   trace-turn.ts     the spans of a turn
 *   ask-person.ts     questions of tools to the person at the thread
 */
import {
  AppError,
  builtInToolsAtStart,
  builtInToolsIn,
  type SessionPath,
  toAppError,
} from '@harness/contracts';
import { type Dispatch, type Ending, promptUuidOf, type Questions, type Turn } from '@harness/dispatch';
import type { Logger } from '@harness/runtime';
import { type BuiltInCall, refusalOf } from '../sandbox/tool-rules.ts';
import type { TurnUsage } from '../session/model-usage.ts';
import type { Lent } from '../session/pool/session-lending.ts';
import type { Answer, Question, Session } from '../session/session.ts';
import type { PromptBlock } from '../workspace/attachments.ts';
import { type Kept, keepFiles } from '../workspace/keep-files.ts';
import { askPerson } from './ask-person.ts';
import { createEmitter, type Emitter } from './emitter.ts';
import {
  commitTurn,
  type EndDeps,
  endStopped,
  failTurn,
  type TurnEnd,
  type Writing,
  withWrite,
} from './end-turn.ts';
import { inputOf, skillOutputsOf } from './skill-outputs.ts';
import { afterReview, afterWork } from './task-outcome.ts';
import { type TurnScope, turnScope } from './turn-scope.ts';

/** What a turn needs. */
export interface TurnDeps extends EndDeps {
  logger: Logger;
  /** False when the worker may no longer own its threads. */
  healthy(): boolean;
  /** Returns the thread's session: warm, resumed or new. Throws before anything was sent to the model. */
  lend(turn: Turn): Promise<Lent>;
  /** Whether the session's transcript already has the run's message. */
  wasSent(turn: Turn, session: Session): Promise<boolean>;
  /** Returns the next event counter of the thread's epoch. */
  nextCounter(threadId: string): number;
  questions: Questions;
  /** What the session may do with tools at this moment. */
  authorityOf: Dispatch['authorityOf'];
  /** The embedded commands of a skill. */
  commandsOf: Dispatch['profiles']['skillCommands'];
  /** Called for every turn that got a session. */
  onPath(path: SessionPath): void;
  /** Called with what the model used. */
  onUsed(used: TurnUsage): void;
}

const continuation =
  'The agent process ended in the middle of your last turn. Continue that turn now. Tool calls without a result may or may not have happened.';

/** A turn that was handed back has kept its files; one whose process died has not. */
const lostFiles = 'Your workspace is as it was before that turn: what the turn had changed there is lost.';

/** What a new prompt says after a turn whose files could not be stored. */
const lostBefore: PromptBlock = {
  type: 'text',
  text: '<system-reminder>\nWhat your last turn changed in the workspace could not be stored and is lost. The files are as they were before that turn; repeat what you still need.\n</system-reminder>',
};

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

async function modelTurn(begun: Turn, stop: AbortController, deps: AskingDeps): Promise<TurnEnd> {
  const startedAt = performance.now();
  const { threadId } = begun.hold;
  const { session, path, hold } = await deps.lend(begun);
  const turn = { ...begun, hold };
  const parts = { turn, stop, deps };
  const emitter = emitterOf(turn, stop, deps);
  const sessionMs = performance.now() - startedAt;
  deps.onPath(path);
  emitter.recordPath(path);
  await emitter.flush();

  const question = await questionOf(turn, { session, path }, { ...deps, signal: stop.signal });
  if (stop.signal.aborted || !deps.healthy()) return endStopped(parts, undefined);

  deps.onAsked();
  const askedAt = performance.now();
  let firstTokenMs: number | null = null;
  const answering = session.ask({
    ...question,
    onEvent({ isFailure, ...event }) {
      firstTokenMs ??= performance.now() - askedAt;
      emitter.push(isFailure ? deps.scrubber.json(event) : event);
    },
    onQuestion: (request, signal) =>
      askPerson(
        request,
        { turn, emitter, questions: deps.questions },
        AbortSignal.any([signal, stop.signal]),
      ).catch((error) => {
        deps.logger.warn(
          { err: error, threadId },
          'the question of a tool is declined: Redis did not respond',
        );
        return { action: 'decline' };
      }),
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
    return endStopped(parts, { session, answering, path, timings, onUsed: deps.onUsed });
  }
  if (answer instanceof AppError && answer.code === 'sandbox_limit') {
    deps.evict(threadId);
    const found = { status: 'error' as const, error: answer.toBody(), timings: timings(), path };
    return failTurn(turn, { ...found, filesLost: true }, deps);
  }
  if (answer === undefined || answer instanceof Error) {
    deps.logger.warn(
      { err: answer, threadId, runId: turn.runId, attempt: turn.attempt },
      'the agent process died',
    );
    deps.evict(threadId);
    return 'again';
  }
  deps.onUsed(answer);
  const kept = await keepFiles(session).catch((error: unknown): Kept & { error?: AppError } => ({
    lives: false,
    files: undefined,
    filesLost: true,
    error: toAppError(error),
  }));
  const giveBack = () => (kept.lives ? deps.give(threadId) : deps.evict(threadId));
  const warmForMs = kept.lives ? deps.sessionTtlMs : undefined;
  const { files, filesLost } = kept;
  const rest = { usage: answer.usage, timings: timings(), path, warmForMs, files, filesLost };
  if ('error' in kept && kept.error) {
    deps.logger.warn(
      { err: kept.error, threadId, runId: turn.runId },
      'the files of the turn are not stored',
    );
    const end = await failTurn(turn, { ...rest, status: 'error', error: kept.error.toBody() }, deps);
    giveBack();
    return end;
  }
  if (answer.outcome === 'error') {
    const error = { code: 'model_error', message: answer.message };
    const end = await failTurn(turn, { ...rest, status: 'error', error }, deps);
    giveBack();
    return end;
  }
  await deps.hooks.afterInvoke(turn.shownId, answer.text);
  if (stop.signal.reason === 'lost') return endStopped(parts, undefined);
  const consequence = turn.task ? afterWork(turn.task, turn.runId, answer.text) : undefined;
  const end = await commitTurn(
    turn,
    { ...rest, status: 'success', result: answer.text, ...consequence },
    deps,
  );
  giveBack();
  if (end === 'committed') await deps.hooks.message(turn.shownId, 'assistant', answer.text);
  return end;
}

/** What the model is asked: the message with its files, or to continue the turn of an earlier attempt. */
async function questionOf(
  turn: Turn,
  { session, path }: Pick<Lent, 'session' | 'path'>,
  deps: AskingDeps & { signal: AbortSignal },
): Promise<Pick<Question, 'prompt' | 'attachments' | 'uuid' | 'onBuiltInTool'>> {
  const onBuiltInTool = builtInRefusals(turn, deps);
  // Only the transcript shows whether an earlier attempt sent the prompt: the SDK never responds to the same
  // message id twice.
  const sent = path === 'resume' && (await deps.wasSent(turn, session));
  const uuid = promptUuidOf(turn, sent);
  const ofMessage = (await session.workspace?.prepare(turn)) ?? [];
  const isLost = session.workspace !== undefined && turn.filesLost === true;
  if (sent) {
    const lost = isLost || (session.workspace && turn.died) ? ` ${lostFiles}` : '';
    return { prompt: continuation + lost, uuid, onBuiltInTool };
  }
  const about = { runId: turn.runId, path, finishedRuns: turn.finishedRuns, kind: turn.kind };
  const input = await inputOf(turn, session, { ...deps, onBuiltInTool });
  const prompt = await deps.hooks.beforeInvoke(turn.shownId, input, about);
  const outputs = await skillOutputsOf(turn, session, { onBuiltInTool, signal: deps.signal });
  const attachments = [...(isLost ? [lostBefore] : []), ...ofMessage, ...outputs];
  return { prompt, attachments, uuid, onBuiltInTool };
}

/** Says why a call of a built-in tool is refused, with what the run may do at that moment. */
const builtInRefusals =
  (turn: Turn, deps: AskingDeps) =>
  async (call: BuiltInCall): Promise<string | undefined> => {
    const atStart = builtInToolsAtStart(turn);
    const { threadId, epoch, me: owner } = turn.hold;
    const rights = await deps.authorityOf({ threadId, epoch, owner });
    if (rights.outcome !== 'ok') return 'The run is over.';
    return refusalOf(call, rights.tools ? builtInToolsIn(rights.tools) : atStart, atStart);
  };

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
