/**
 * The end of a turn: the writes that store its run's result, or hand the turn back.
 */
import { AppError, type SessionPath } from '@harness/contracts';
import { type Ending, type Lease, type LeftFiles, type Turn, untilReached } from '@harness/dispatch';
import type { HookRunner } from '@harness/plugin-kit';
import type { Scrubber } from '@harness/runtime';
import type { TurnUsage } from '../session/model-usage.ts';
import type { ModelResponse, Session } from '../session/session.ts';
import { type Kept, keepFiles } from '../workspace/keep-files.ts';
import { afterFailure, type Failure } from './task-outcome.ts';

/**
 * How a turn ended:
 * - committed: the run has its result (D1), success or failure;
 * - again: the agent process died, or Redis did not take the result; the attempt counts;
 * - handed back: the worker drains, or is unhealthy and fenced itself; the attempt does not count;
 * - lost: another worker has the thread; nothing more is written (D3, D4).
 */
export type TurnEnd = 'committed' | 'again' | 'handed back' | 'lost';

/** Why a turn is stopped from outside. */
export type StopReason = 'cancelled' | 'interrupted' | 'timeout' | 'drain' | 'unhealthy' | 'lost';

/** What the end of a turn needs. */
export interface EndDeps {
  lease: Lease;
  hooks: HookRunner;
  /** Replaces secrets in the errors of runs and in failed reviews. */
  scrubber: Scrubber;
  turnTimeoutMs: number;
  /** How long a session stays warm after a turn, ms. */
  sessionTtlMs: number;
  /** Returns the thread's session to the pool. */
  give(threadId: string): void;
  /** Ends the thread's session. */
  evict(threadId: string): void;
  /** A skill narrowed the tools of the session during the turn: it must list them again. */
  relist(threadId: string): void;
  /** Called after every commit. `remaining`: messages that wait in the mailbox. */
  onCommitted(turn: Turn, ending: Ending, remaining: number): void;
}

/**
 * Runs a step that must reach Redis: repeats it while Redis is unreachable or full, until the turn's time is
 * over.
 */
type Write = <T>(step: () => Promise<T>) => Promise<T>;

/** What a turn needs, with its own `write`. */
export type Writing<Deps extends EndDeps = EndDeps> = Deps & { write: Write };

/** A turn that has begun, and what stops it. */
export interface TurnParts {
  turn: Turn;
  stop: AbortController;
  deps: Writing;
}

/** A prompt that the model has. */
export interface Asked {
  session: Session;
  responding: Promise<ModelResponse>;
  path: SessionPath;
  timings(): Ending['timings'];
  onUsed(used: TurnUsage): void;
}

/** Time for the session to end its turn after an interrupt, ms; then it is killed. */
const interruptGraceMs = 5_000;
/** Minimum time for writing a turn's result to Redis, ms, even after the turn timeout. */
const leastWriteMs = 30_000;

/** Adds `write` to the deps of a turn that begins now. */
export function withWrite<Deps extends EndDeps>(deps: Deps): Writing<Deps> {
  const endsAt = performance.now() + deps.turnTimeoutMs;
  const write: Write = (step) => {
    const until = Math.max(endsAt, performance.now() + leastWriteMs);
    return untilReached(step, () => performance.now() > until);
  };
  return { ...deps, write };
}

/** Commits the result of the run and everything that follows from it. */
export async function commitTurn(turn: Turn, ending: Ending, deps: Writing): Promise<TurnEnd> {
  const done = await deps.write(() => deps.lease.commit(turn, ending));
  if (!done) return 'lost';
  deps.onCommitted(turn, ending, done.remaining);
  if (done.narrowed) deps.relist(turn.hold.threadId);
  for (const mail of ending.mail ?? []) {
    if (mail.kind !== 'review') await deps.hooks.message(mail.threadId, 'system', mail.input);
  }
  return 'committed';
}

/** Commits a failure of the run and its consequence for the task. */
export async function failTurn(
  turn: Turn,
  found: Failure & Partial<Ending>,
  deps: Writing,
): Promise<TurnEnd> {
  const failure = { ...found, error: deps.scrubber.json(found.error) };
  const consequence = turn.task ? afterFailure(turn.task, turn.runId, failure) : undefined;
  const end = await commitTurn(turn, { ...failure, ...consequence }, deps);
  if (end === 'committed' && turn.task)
    await deps.hooks.taskFailed(turn.shownId, turn.task.taskId, failure.error);
  return end;
}

/** Hands the turn back: the attempt does not count, and the next ring starts it again. */
export const handBack = (turn: Turn, deps: Writing, left?: LeftFiles): Promise<void> =>
  deps.write(() => deps.lease.handBack(turn, left));

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
export function refuseTurn(turn: Turn, outcome: keyof typeof refusals, deps: EndDeps): Promise<TurnEnd> {
  const status = outcome === 'park' ? 'error' : outcome;
  // No further attempt tells the model that files were lost, so the next run must.
  const filesLost = turn.died ? true : undefined;
  return failTurn(turn, { status, error: refusals[outcome], filesLost }, withWrite(deps));
}

/** Ends a turn that was stopped from outside; `asked` is set when the model already had the prompt. */
export async function endStopped(
  { turn, stop, deps }: TurnParts,
  asked: Asked | undefined,
): Promise<TurnEnd> {
  const { threadId } = turn.hold;
  const reason: StopReason = stop.signal.aborted ? stop.signal.reason : 'unhealthy';
  if (reason === 'lost') {
    deps.evict(threadId);
    return 'lost';
  }
  if (reason === 'drain' || reason === 'unhealthy') {
    const left = asked && (await filesOf(asked, undefined));
    deps.evict(threadId);
    if (asked) await storeConversation(asked, deps);
    await handBack(turn, deps, left && { files: left.files, filesLost: left.filesLost || undefined });
    return 'handed back';
  }
  const response = asked && (await interrupted(asked));
  const { lives: kept, ...left } = asked ? await filesOf(asked, response) : { lives: false };
  if (response) asked?.onUsed(response);
  if (!kept) deps.evict(threadId);
  const ends = {
    timeout: { code: 'turn_timeout', message: `The turn did not end within ${deps.turnTimeoutMs} ms.` },
    cancelled: { code: 'turn_cancelled', message: 'The run was cancelled.' },
    interrupted: { code: 'turn_cancelled', message: 'A later message interrupted the run.' },
  };
  const warmForMs = kept ? deps.sessionTtlMs : undefined;
  const rest = asked
    ? { timings: asked.timings(), path: asked.path, usage: response?.usage, warmForMs, ...left }
    : {};
  const end = await failTurn(turn, { ...rest, status: reason, error: ends[reason] }, deps);
  if (kept) deps.give(threadId);
  return end;
}

/** The files of a turn that was stopped: as they are, or as before where they cannot be stored. */
async function filesOf({ session }: Asked, response: ModelResponse | undefined): Promise<Kept> {
  try {
    return await keepFiles(session, { kill: response === undefined });
  } catch {
    return { lives: false, files: undefined, filesLost: true };
  }
}

/**
 * Writes what Redis has not taken of the conversation of a session that has ended, so that the next one does not repeat tool
 * calls whose results are known here.
 */
export async function storeConversation({ session }: Pick<Asked, 'session'>, deps: Writing): Promise<void> {
  await deps.write(async () => {
    if ((await session.storeRest()) === 'behind')
      throw new AppError('unavailable', 'Redis has not taken the whole conversation yet.');
  });
}

/** Interrupts the session. Returns its response when it ended its turn in time and can be kept. */
async function interrupted({ session, responding }: Asked): Promise<ModelResponse | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), interruptGraceMs);
  });
  const settled = session
    .interrupt()
    .then(() => responding)
    .catch(() => undefined);
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}
