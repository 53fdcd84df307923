/**
 * Decides which session a thread gets: its warm one, a spare, its conversation resumed in a new process, or a
 * cold start; and keeps the hold under which the session writes. When a new process replaces an old one, the
 * old one is dead first and the epoch rises, so that two processes never write for one thread (D3, D4).
 */
import { AppError, type SessionPath, signThreadToken, threadTokenTtlSeconds } from '@harness/contracts';
import type { Dispatch, HeldThread, Hold, TranscriptState, TranscriptStore } from '@harness/dispatch';
import type { ToolServer } from '@harness/plugin-kit';
import { skillPluginName } from '@harness/plugins';
import type { Logger } from '@harness/runtime';
import type { Opened, OpenSession } from './open-session.ts';
import type { OnTranscript, Session } from './session.ts';
import type { SessionProfile } from './session-options.ts';
import type { SessionPool } from './session-pool.ts';
import type { Spares } from './spares.ts';
import { systemPromptOf } from './system-prompt.ts';
import type { HeldSlot, ThreadSlots } from './thread-slots.ts';

/** A session for a turn. */
export interface Lent {
  session: Session;
  path: SessionPath;
  /** The hold to use from now on: its epoch may have risen. */
  hold: Hold;
}

/** The sessions of held threads. */
export interface SessionLending {
  /**
   * Records the hold of a claimed thread. If its epoch has changed, another worker had the thread: the old
   * session ends.
   */
  keep(hold: Hold): void;
  /**
   * Returns the thread's session. Throws `session_failed` when none could be started, `stale_epoch` when the
   * thread was lost meanwhile, and `agent_not_found` or `skill_not_found`.
   */
  lend(thread: HeldThread): Promise<Lent>;
  /** Starts the thread's session, or extends its idle time, and emits `session.warm`. */
  warm(thread: HeldThread): Promise<void>;
  /** The session's tool list is outdated: it lists its tools again before the next run. */
  relist(threadId: string): void;
  /** Returns the next event counter of the thread's epoch. */
  nextCounter(threadId: string): number;
  holdOf(threadId: string): Hold | undefined;
  holds(): Hold[];
  forget(threadId: string): void;
  forgetAll(): void;
  /** How often a transcript could not be written, since the start of the process. */
  transcriptErrors(): number;
}

/** What it needs. */
export interface SessionLendingDeps {
  dispatch: Dispatch;
  /** Shared with the pool and the worker. */
  slots: ThreadSlots;
  pool: SessionPool;
  spares: Spares;
  openSession: OpenSession;
  /** The current tool server; null without tools. */
  toolServer(): ToolServer | null;
  tokenSecret: string;
  mcpUrl: string;
  defaultModel: string | undefined;
  sessionTtlMs: number;
  turnTimeoutMs: number;
  logger: Logger;
}

/** A token is renewed when it could expire during a turn, with this share of its lifetime as margin. */
const tokenMarginShare = 0.1;

/** Creates the session lease of one worker. */
export function createSessionLending(deps: SessionLendingDeps): SessionLending {
  const { dispatch, slots, pool, logger } = deps;
  const { lease, sessions, transcripts } = dispatch;
  const heldOf = (threadId: string) => slots.get(threadId)?.held;
  let transcriptErrors = 0;

  const keep = (hold: Hold): HeldSlot => {
    const known = heldOf(hold.threadId);
    if (known?.hold.epoch === hold.epoch && known.hold.me === hold.me) return known;
    pool.evict(hold.threadId);
    const fresh: HeldSlot = { hold, counter: 0, session: undefined, tokenAt: 0, listedFor: null };
    slots.update(hold.threadId, { held: fresh });
    return fresh;
  };

  const profileOf = (thread: HeldThread): SessionProfile => ({
    model: thread.model ?? deps.defaultModel,
    systemPrompt: systemPromptOf(thread),
    // Without usable tools the session has no tool server; when that changes, it needs another session.
    tools: hasTools(thread.allowedTools) ? thread.allowedTools : [],
  });
  /** Workers know all tools but the skills, which only gateways load: a named skill counts as a tool. */
  const hasTools = (tools: string[] | undefined) =>
    tools?.some((name) => name.startsWith(`${skillPluginName}__`)) ||
    (deps.toolServer()?.list(tools ? { tools } : {}).length ?? 0) > 0;

  const tokenFor = async (thread: HeldThread, record: HeldSlot): Promise<string | undefined> => {
    const { tenant, allowedTools: tools, threadTaskId: taskId } = thread;
    if (!hasTools(tools)) return undefined;
    record.tokenAt = performance.now();
    const { threadId, epoch, me: owner } = record.hold;
    const alias = thread.shownId === threadId ? undefined : thread.shownId;
    return signThreadToken({ threadId, alias, epoch, owner, tenant, taskId, tools }, deps.tokenSecret);
  };

  /**
   * Before another process may write for the thread: waits until the old one is dead, and raises the epoch.
   */
  const succeed = async (record: HeldSlot) => {
    if (!record.session) return;
    await record.session.exited;
    const hold = await lease.raiseEpoch(record.hold);
    if (!hold) throw new AppError('stale_epoch', 'Another worker has taken the thread.');
    record.hold = hold;
    record.counter = 0;
    record.session = undefined;
  };

  const onTranscript = (record: HeldSlot) => (transcript: TranscriptState) => {
    const { threadId } = record.hold;
    if (transcript === 'whole') logger.info({ threadId }, 'transcript complete again');
    else {
      transcriptErrors++;
      logger.error(
        { threadId, transcript },
        'transcript not written: the thread cannot move to another worker',
      );
    }
    sessions
      .note(record.hold, { transcript })
      .catch((error) => logger.error({ err: error }, 'transcript state not recorded'));
  };

  const open = async (thread: HeldThread, record: HeldSlot, profile: SessionProfile): Promise<Opened> => {
    const { threadId } = thread.hold;
    await succeed(record);
    const known = thread.sdkSessionId;
    const resume = known && (await transcripts.has(threadId, known)) ? known : undefined;
    const warming = resume ? 'resuming' : 'warming';
    await sessions.note(record.hold, {
      warming,
      event: { type: 'session.warming', epoch: record.hold.epoch },
    });
    const token = await tokenFor(thread, record);
    const store = transcripts.storeOf(threadId, () => record.hold);
    const spare =
      resume === undefined && isDefault(profile, deps.defaultModel) ? deps.spares.take() : undefined;
    const opened = spare
      ? await claimed(spare, {
          store,
          onTranscript: onTranscript(record),
          mcp: token && { url: deps.mcpUrl, token },
        })
      : await deps.openSession({
          name: threadId,
          profile,
          resume,
          token,
          store,
          onTranscript: onTranscript(record),
        });
    record.session = opened.session;
    // Recorded before the first prompt, so that another worker can resume the conversation.
    await sessions.note(record.hold, { sdkSessionId: opened.session.sessionId });
    return opened;
  };

  const expiresInTurn = ({ tokenAt }: HeldSlot) =>
    threadTokenTtlSeconds * 1000 * (1 - tokenMarginShare) - (performance.now() - tokenAt) <
    deps.turnTimeoutMs;
  /**
   * The gateway lists the tools of the current run: a session that listed those of another run must list
   * again.
   */
  const isListStale = (thread: HeldThread, { listedFor }: HeldSlot) => listedFor !== thread.runTools;

  const lend = async (thread: HeldThread): Promise<Lent> => {
    const record = keep(thread.hold);
    const profile = profileOf(thread);
    const lent = await pool.lend({
      key: thread.hold.threadId,
      profile,
      open: () => open(thread, record, profile),
    });
    if (
      lent.path === 'warm' &&
      record.tokenAt > 0 &&
      (expiresInTurn(record) || isListStale(thread, record))
    ) {
      const token = await tokenFor(thread, record);
      if (token) await lent.session.renewMcp({ url: deps.mcpUrl, token });
    }
    record.listedFor = thread.runTools;
    return { ...lent, hold: record.hold };
  };

  return {
    keep,
    lend,
    async warm(thread) {
      const { threadId } = thread.hold;
      try {
        const { path, hold } = await lend(thread);
        pool.give(threadId);
        const event = { type: 'session.warm' as const, epoch: hold.epoch, path };
        await sessions.note(hold, { warmForMs: deps.sessionTtlMs, event });
      } catch (error) {
        // Ends the request for a session, which would otherwise be retried for ever.
        pool.evict(threadId);
        await sessions.note(heldOf(threadId)?.hold ?? thread.hold, { warmForMs: 0 });
        throw error;
      }
    },
    relist(threadId) {
      const record = heldOf(threadId);
      if (record) record.listedFor = null;
    },
    nextCounter(threadId) {
      const record = heldOf(threadId);
      return record ? ++record.counter : 1;
    },
    holdOf: (threadId) => heldOf(threadId)?.hold,
    holds: () => slots.with('held').map(([, { hold }]) => hold),
    forget: (threadId) => slots.update(threadId, { held: undefined }),
    forgetAll() {
      for (const [threadId] of slots.with('held')) slots.update(threadId, { held: undefined });
    },
    transcriptErrors: () => transcriptErrors,
  };
}

const isDefault = (profile: SessionProfile, defaultModel: string | undefined) =>
  profile.model === defaultModel && profile.systemPrompt === undefined && profile.tools === undefined;

interface SpareClaim {
  store: TranscriptStore;
  onTranscript: OnTranscript;
  mcp: { url: string; token: string } | '' | undefined;
}

/**
 * Turns a spare into the thread's session: its transcript goes to the thread's store, and it gets the
 * thread's tools.
 */
async function claimed({ session }: Opened, { store, onTranscript, mcp }: SpareClaim): Promise<Opened> {
  session.adopt(store, onTranscript);
  try {
    if (mcp) await session.renewMcp(mcp);
  } catch (cause) {
    session.kill();
    throw new AppError('session_failed', 'The spare session could not connect to the tools of its thread.', {
      cause,
    });
  }
  return { session, path: 'spare' };
}
