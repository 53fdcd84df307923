import type {
  ErrorBody,
  FileChanges,
  FinalRunStatus,
  NewEvent,
  SessionPath,
  Task,
  Timings,
  Usage,
} from '@harness/contracts';
import type { EmbeddedCommands } from '../gateway/profiles.ts';
import type { Mail } from '../thread/mail.ts';

/** A thread held at an epoch. */
export interface Hold {
  threadId: string;
  /** workerId#incarnation */
  me: string;
  epoch: number;
}

/**
 * The result of a claim. `owned`: another live worker has the thread. `dead`: the caller's own liveness key
 * has expired. `gone`: the thread does not exist.
 */
export type Claim =
  /** `isLastAttempt`: if the thread's next turn crashes, its message is parked. */
  | { outcome: 'mine'; hold: Hold; isLastAttempt: boolean }
  | { outcome: 'owned'; owner: string }
  | { outcome: 'dead' | 'gone' };

/** What a thread's session is created from. */
export interface HeldThread {
  hold: Hold;
  /** The id by which callers and plugins know the thread. */
  shownId: string;
  tenant: string;
  /** The model of the run, else of the active skill, else of the thread, else of its agent. */
  model: string | undefined;
  systemPrompt: string | undefined;
  /** Tools allowed by the thread, its agent and its active skill alike; undefined = all. */
  allowedTools: string[] | undefined;
  /**
   * The run's tools (JSON text) where the caller's key or a followed skill narrowed them; undefined = not
   * narrowed.
   */
  runTools: string | undefined;
  /** `instructions` is undefined when the agent no longer exists. */
  agent: { name: string; instructions: string | undefined } | undefined;
  /** The active skill. `instructions` is undefined when the skill no longer exists. */
  skill:
    | { name: string; instructions: string | undefined; commands?: EmbeddedCommands | undefined }
    | undefined;
  /**
   * The conversation to resume; undefined when there is none, or when its transcript exceeds the size limit.
   */
  sdkSessionId: string | undefined;
  /** Runs of this thread that have ended. */
  finishedRuns: number;
  /** The delegated task that the thread was created for. */
  threadTaskId: string | undefined;
  /** Whether the thread was asked to have a workspace; undefined = not said. */
  workspace: boolean | undefined;
  /** Version of its files: what its workspace must hold when the next turn begins; undefined = none yet. */
  files: string | undefined;
}

/** A begun run: what its turn needs. */
export interface Turn extends HeldThread {
  nonce: string;
  runId: string;
  seq: number;
  kind: 'message' | 'delegate' | 'feedback' | 'review' | 'notification';
  attempt: number;
  input: string;
  /** Digest of a manifest: files of the message, which the workspace must hold when the turn begins, besides its own. */
  filesIn: string | undefined;
  /** The skill whose instructions are the input. */
  followed?: { name: string; arguments: string } | undefined;
  /** The task that this run works on or reviews. */
  task: Task | undefined;
  /** Reviews of bus work only: the work failed, so there is no result to review. */
  failure?: ErrorBody | undefined;
  createdAtMs: number;
  /** The span that caused the run, as a traceparent; undefined: it is not traced. */
  trace?: string | undefined;
  /** Whether changes of an earlier turn were lost, and the model does not know it yet. */
  filesLost?: boolean | undefined;
  /** The previous attempt, if its process ended without handing the turn back. */
  died?: DeadAttempt | undefined;
}

/** An attempt whose process ended in the middle of it. */
export interface DeadAttempt {
  nonce: string;
  begunAtMs: number;
  /** When the thread had its latest event, of the attempt or of a message that arrived meanwhile. */
  seenAtMs: number;
  /** How long the thread had no event until the next attempt began, ms. */
  silentMs: number;
}

/**
 * The result of `begin`. `run`: run the turn. `cancelled`, `interrupted`, `park` (attempts exhausted): commit
 * the turn with that ending. `empty`: no mail; `prewarm` is set when the session should be started. `fenced`:
 * the thread is lost.
 */
export type Begin =
  | { outcome: 'run' | 'cancelled' | 'interrupted' | 'park'; turn: Turn }
  | { outcome: 'empty'; prewarm?: HeldThread | undefined }
  | { outcome: 'fenced' };

/** How a run ends, and what follows from it. */
export interface Ending {
  status: FinalRunStatus;
  result?: string | undefined;
  error?: { code: string; message: string } | undefined;
  usage?: Usage | undefined;
  timings?: Timings | undefined;
  path?: SessionPath | undefined;
  /** The session stays warm for this long, ms. */
  warmForMs?: number | undefined;
  /** Outgoing mail; with a task it is sent only if the task is still open. */
  mail?: Mail[] | undefined;
  task?: TaskChange | undefined;
  /** The new version of the thread's files, already stored; undefined = as before. */
  files?: FileChanges | undefined;
  /** Whether what the turn has changed is lost, which the next turn tells the model; undefined = as before. */
  filesLost?: boolean | undefined;
}

/** What a turn that is handed back leaves. */
export type LeftFiles = Pick<Ending, 'files' | 'filesLost'>;

/** A change of a delegated task, made together with a commit. */
export interface TaskChange {
  taskId: string;
  /** Compared with the task's iteration; on a mismatch the change is ignored. */
  iteration: number;
  /** Fields of the task's hash. */
  set: Record<string, string | number>;
  /** An additional event, with these `fields`. */
  event?: 'task.review_ended' | undefined;
  fields?: object | undefined;
}

/** A thread that a worker believes it holds, and the run in progress there. */
export interface HeldNow {
  threadId: string;
  epoch: number;
  runId?: string | undefined;
}

/** What a worker has missed. */
export interface Missed {
  /** Threads that are deleted, unowned, or owned by another worker. */
  lost: string[];
  /** Runs to be ended at a caller's request. */
  cancel: string[];
  /** Runs to be ended because of a later message with strategy `interrupt`. */
  interrupt: string[];
  /** The worker was asked to finish its turns and exit. */
  drain: boolean;
}

/** An event as a turn writes it. */
export interface LeaseEvent extends NewEvent {
  /** Not stored, only sent to current subscribers. */
  live?: boolean;
  /** The tool-use id whose tool result the model has now seen. */
  delivered?: string;
  /** An event of this task: also stored on its parent's thread. */
  taskId?: string;
}
