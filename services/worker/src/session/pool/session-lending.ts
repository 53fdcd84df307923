/**
 * Decides which session a thread gets: its warm one, a spare, its conversation resumed in a new process, or a
 * cold start. When a new process replaces an old one, the old one is dead first and the epoch rises, so that
 * two processes never write for one thread (D3, D4).
 */

import {
  AppError,
  builtInToolsOf,
  type SessionPath,
  signThreadToken,
  threadTokenTtlSeconds,
  type WorkspaceMode,
} from '@harness/contracts';
import type { Dispatch, HeldThread, Hold, TranscriptState, TranscriptStore } from '@harness/dispatch';
import type { ToolServer } from '@harness/plugin-kit';
import { skillPluginName } from '@harness/plugins';
import type { Logger } from '@harness/runtime';
import type { OpenWorkspace } from '../../workspace/open-workspaces.ts';
import type { SkillFolder, SkillFolders } from '../../workspace/skill-folders.ts';
import type { Opened, OpenSession } from '../open-session.ts';
import type { OnTranscript, Session } from '../session.ts';
import type { SessionProfile } from '../session-options.ts';
import { systemPromptOf } from '../system-prompt.ts';
import type { ThreadHolds } from '../thread-holds.ts';
import type { HeldSlot } from '../thread-slots.ts';
import { searchesFor } from '../tool-search.ts';
import type { SessionPool } from './session-pool.ts';
import type { Spares } from './spares.ts';

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
   * Returns the thread's session. Throws `session_failed` when none could be started, `stale_epoch` when the
   * thread was lost meanwhile, and `agent_not_found` or `skill_not_found`.
   */
  lend(thread: HeldThread): Promise<Lent>;
  /** Starts the thread's session, or extends its idle time, and emits `session.warm`. */
  warm(thread: HeldThread): Promise<void>;
  /** How often a transcript could not be written, since the start of the process. */
  transcriptErrors(): number;
}

/** What the session lending needs. */
export interface SessionLendingDeps {
  dispatch: Dispatch;
  holds: ThreadHolds;
  pool: SessionPool;
  spares: Spares;
  openSession: OpenSession;
  /** The current tool server; null without tools. */
  toolServer(): ToolServer | null;
  /** Whether a plugin runs in this process, too. */
  knowsPlugin(pluginName: string): boolean;
  tokenSecret: string;
  mcpUrl: string;
  workspaces: WorkspaceMode;
  openWorkspace?: OpenWorkspace | undefined;
  skillFolders?: SkillFolders | undefined;
  defaultModel: string | undefined;
  sessionTtlMs: number;
  turnTimeoutMs: number;
  logger: Logger;
}

/** Creates the session lending of one worker. */
export function createSessionLending(deps: SessionLendingDeps): SessionLending {
  const { dispatch, holds, pool } = deps;
  const { sessions } = dispatch;
  const access = createToolAccess(deps);
  const opener = createThreadOpener(deps, access);

  const lend = async (thread: HeldThread): Promise<Lent> => {
    const held = holds.keep(thread.hold);
    const builtInTools = builtInToolsOf(thread, deps.workspaces);
    const skills = builtInTools && (await deps.skillFolders?.of(thread.tenant));
    const profile: SessionProfile = {
      model: thread.model ?? deps.defaultModel,
      systemPrompt: systemPromptOf(thread),
      tools: access.toolsOf(thread),
      searches: await access.searches(thread),
      builtInTools,
      skillFiles: skills?.signature,
    };
    const lent = await pool.lend({
      key: thread.hold.threadId,
      profile,
      open: () => opener.open(thread, held, { profile, skills }),
    });
    if (lent.path === 'warm' && access.isOutdated(thread, held)) {
      const token = await access.tokenFor(thread, held);
      if (token) await lent.session.renewMcp({ url: deps.mcpUrl, token });
    }
    held.listedFor = thread.runTools;
    return { ...lent, hold: held.hold };
  };

  return {
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
        await sessions.note(holds.get(threadId) ?? thread.hold, { warmForMs: 0 });
        throw error;
      }
    },
    transcriptErrors: opener.transcriptErrors,
  };
}

/** A token is renewed when it could expire during a turn, with this share of its lifetime as margin. */
const tokenMarginShare = 0.1;

/** Which tools the session of a thread has, and its token for them. */
function createToolAccess(deps: SessionLendingDeps) {
  /** Whether the name may be of a skill or an upstream's tool: only gateways know these, so it counts as a tool. */
  const mayBeElsewhere = (name: string) => {
    const [plugin = '', tool] = name.split('__', 2);
    return tool !== undefined && (plugin === skillPluginName || !deps.knowsPlugin(plugin));
  };
  const hasTools = (tools: string[] | undefined) =>
    tools?.some(mayBeElsewhere) || (deps.toolServer()?.list(tools ? { tools } : {}).length ?? 0) > 0;
  const expiresInTurn = ({ tokenAt }: HeldSlot) =>
    threadTokenTtlSeconds * 1000 * (1 - tokenMarginShare) - (performance.now() - tokenAt) <
    deps.turnTimeoutMs;
  return {
    /** Without usable tools the session has no tool server; when that changes, it needs another session. */
    toolsOf: ({ allowedTools }: HeldThread) => (hasTools(allowedTools) ? allowedTools : []),
    /** Whether the session searches for its tools. */
    searches: async ({ allowedTools: tools }: HeldThread) =>
      hasTools(tools) ? searchesFor(tools, deps.dispatch) : undefined,
    /** Signs a token for the session; undefined when it has no tools. */
    async tokenFor(thread: HeldThread, held: HeldSlot): Promise<string | undefined> {
      const { tenant, allowedTools: tools, threadTaskId: taskId } = thread;
      if (!hasTools(tools)) return undefined;
      held.tokenAt = performance.now();
      const { threadId, epoch, me: owner } = held.hold;
      const alias = thread.shownId === threadId ? undefined : thread.shownId;
      return signThreadToken({ threadId, alias, epoch, owner, tenant, taskId, tools }, deps.tokenSecret);
    },
    /**
     * Whether a warm session must connect to the tool server again: its token could expire, or it listed the
     * tools of another run (the gateway lists those of the current one).
     */
    isOutdated: (thread: HeldThread, held: HeldSlot) =>
      held.tokenAt > 0 && (expiresInTurn(held) || held.listedFor !== thread.runTools),
  };
}

/** Opens the session of a thread that has none: a spare, or a new process that may resume its transcript. */
function createThreadOpener(deps: SessionLendingDeps, access: ReturnType<typeof createToolAccess>) {
  const { dispatch, logger } = deps;
  const { lease, sessions, transcripts } = dispatch;
  let transcriptErrors = 0;

  /**
   * Before another process may write for the thread: ends the old one, waits until it is dead, and raises the epoch.
   */
  const succeed = async (held: HeldSlot) => {
    if (!held.session) return;
    held.session.kill();
    await held.session.exited;
    const hold = await lease.raiseEpoch(held.hold);
    if (!hold) throw new AppError('stale_epoch', 'Another worker has taken the thread.');
    held.hold = hold;
    held.counter = 0;
    held.session = undefined;
  };

  const onTranscript = (held: HeldSlot) => (transcript: TranscriptState) => {
    const { threadId } = held.hold;
    if (transcript === 'whole') logger.info({ threadId }, 'transcript complete again');
    else {
      transcriptErrors++;
      logger.error(
        { threadId, transcript },
        'transcript not written: the thread cannot move to another worker',
      );
    }
    sessions
      .note(held.hold, { transcript })
      .catch((error) => logger.error({ err: error }, 'transcript state not recorded'));
  };

  const open = async (
    thread: HeldThread,
    held: HeldSlot,
    { profile, skills }: { profile: SessionProfile; skills: SkillFolder | undefined },
  ): Promise<Opened> => {
    const { threadId } = thread.hold;
    await succeed(held);
    const known = thread.sdkSessionId;
    const resume = known && (await transcripts.has(threadId, known)) ? known : undefined;
    const warming = resume ? 'resuming' : 'warming';
    const event = { type: 'session.warming' as const, epoch: held.hold.epoch };
    await sessions.note(held.hold, { warming, event });
    const token = await access.tokenFor(thread, held);
    const transcript = {
      store: transcripts.storeOf(threadId, () => held.hold),
      onTranscript: onTranscript(held),
    };
    const spare =
      resume === undefined && isDefault(profile, deps.defaultModel)
        ? spareFor(profile, deps.spares)
        : undefined;
    const opened = spare
      ? await claimed(spare, { ...transcript, mcp: token && { url: deps.mcpUrl, token } })
      : await deps.openSession({
          name: threadId,
          profile,
          resume,
          token,
          ...transcript,
          skills,
          workspace: profile.builtInTools && deps.openWorkspace?.(thread),
        });
    held.session = opened.session;
    try {
      // Recorded before the first prompt, so that another worker can resume the conversation.
      await sessions.note(held.hold, { sdkSessionId: opened.session.sessionId });
      return opened;
    } catch (error) {
      opened.session.kill(); // the pool does not have it yet
      throw error;
    }
  };

  return { open, transcriptErrors: () => transcriptErrors };
}

const isDefault = (profile: SessionProfile, defaultModel: string | undefined) =>
  profile.model === defaultModel &&
  profile.systemPrompt === undefined &&
  profile.tools === undefined &&
  profile.builtInTools === undefined;

/** Takes a spare that loads tools as the profile says. A spare that does not is ended: the number of tools has changed. */
function spareFor({ searches }: SessionProfile, spares: Spares): Opened | undefined {
  const spare = spares.take();
  if (!spare || spare.searches === searches) return spare;
  spare.session.kill();
  return undefined;
}

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
