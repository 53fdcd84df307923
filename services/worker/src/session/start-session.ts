import { query, type SDKUserMessage } from '@anthropic-ai/claude-agent-sdk';
import { AppError } from '@harness/contracts';
import type { TranscriptStore } from '@harness/dispatch';
import { withTimeLimit } from '@harness/plugin-kit';
import { finishSkills } from '../sandbox/embedded-commands.ts';
import type { BuiltInCall } from '../sandbox/tool-rules.ts';
import type { SkillFolder } from '../workspace/skill-folders.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { createInbox } from './inbox.ts';
import { connected } from './mcp-endpoint.ts';
import { type Asking, createSession, type OnTranscript, type Session } from './session.ts';
import { type SessionProcess, type SessionRequest, sessionOptionsOf } from './session-options.ts';
import { createTranscriptWriter } from './transcript-writer.ts';

/** Longest start of a session, including its tools, ms. */
const startLimitMs = 30_000;

/** How to start a session. */
export interface StartRequest
  extends Omit<SessionRequest, 'store' | 'onElicitation' | 'onBuiltInTool' | 'onBreach' | 'finishResult'> {
  /** The store of its transcript; 'later' for a spare; undefined = not stored. */
  store?: TranscriptStore | 'later' | undefined;
  onTranscript: OnTranscript;
  workspace?: Workspace | undefined;
  /** The embedded commands of a skill, for a session in a sandbox. */
  commandsOf?: SkillFolder['commandsOf'] | undefined;
}

/** Starts the subprocess and waits until its tools are connected. Throws `session_failed`. */
export async function startSession(request: StartRequest): Promise<Session> {
  let subprocess: SessionProcess | undefined;
  const { store, enclosure, commandsOf } = request;
  const writer = store && createTranscriptWriter(store === 'later' ? undefined : store);
  const inbox = createInbox<SDKUserMessage>();
  const asking: Asking = { onQuestion: undefined, onBuiltInTool: undefined };
  const onBuiltInTool = async (call: BuiltInCall) =>
    asking.onBuiltInTool ? asking.onBuiltInTool(call) : 'No turn is in progress.';
  const finishResult =
    enclosure && commandsOf && finishSkills({ commandsOf, refusalOf: onBuiltInTool, run: enclosure.run });
  const options = sessionOptionsOf({
    ...request,
    finishResult,
    onElicitation: async (asked, { signal }) =>
      (await asking.onQuestion?.(asked, signal)) ?? { action: 'decline' },
    onBuiltInTool,
    store: writer?.store,
    onBreach: (reason) => breach(reason),
    onProcess(process) {
      subprocess = process;
      request.onProcess(process);
    },
  });
  /** A breach before the session exists ends its process. */
  let breach = (_reason: string): void => subprocess?.kill();
  const q = query({ prompt: inbox, options });
  const session = createSession(q, inbox, {
    process: () => subprocess,
    writer,
    request,
    asking,
    finishResult,
  });
  breach = session.breach;
  try {
    const ready = request.mcp ? connected(q) : q.initializationResult();
    // A subprocess that never responds must not block its turn for ever.
    const timeoutError = () => new Error(`it did not respond within ${startLimitMs} ms`);
    await withTimeLimit<unknown>({ timeoutMs: startLimitMs, timeoutError }, () => ready);
    return session;
  } catch (cause) {
    session.kill();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AppError('session_failed', `The agent session did not start: ${reason}`, { cause });
  }
}
