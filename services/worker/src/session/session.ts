/**
 * One Agent SDK session: a subprocess with one conversation, used through prompts and events.
 *
 * States: opening -> idle <-> answering -> ended. `ask` is allowed in idle only; the caller serialises. An
 * ended session cannot be reused.
 *
 * This folder:
 *   session-options.ts     the SDK's options; starts the subprocess
 *   session-events.ts      SDK messages -> thread events
 *   model-usage.ts         SDK messages -> tokens and cost of a turn
 *   session-home.ts        folders of sessions
 *   inbox.ts               the iterable that the SDK reads prompts from
 *   transcript-writer.ts   buffers transcript entries that could not be written
 *   open-session.ts        opens sessions, a few at a time, and tracks all that live
 *   pool/                  warm sessions, spares, and which session a thread gets
 *   thread-slots.ts        all state of this worker about a thread
 *   thread-holds.ts        the threads that this worker holds
 *   system-prompt.ts       the system prompt of a thread
 */
import { setTimeout as after } from 'node:timers/promises';
import {
  type ElicitationRequest,
  type ElicitationResult,
  type Query,
  query,
  type SDKMessage,
  type SDKResultMessage,
  type SDKUserMessage,
} from '@anthropic-ai/claude-agent-sdk';
import { AppError } from '@harness/contracts';
import type { TranscriptState, TranscriptStore } from '@harness/dispatch';
import { withTimeLimit } from '@harness/plugin-kit';
import type { PromptBlock } from '../workspace/attachments.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { createInbox } from './inbox.ts';
import type { McpEndpoint } from './mcp-endpoint.ts';
import { createUsageMeter, type TurnUsage } from './model-usage.ts';
import { eventsOf, type SessionEvent } from './session-events.ts';
import {
  type BuiltInCall,
  mcpServersOf,
  type SessionProcess,
  type SessionRequest,
  sessionOptionsOf,
} from './session-options.ts';
import { createTranscriptWriter, type TranscriptWriter } from './transcript-writer.ts';

/** The model's response to a prompt; `error`: the model or the SDK failed, but the session continues. */
export type Answer =
  | ({ outcome: 'success'; text: string } & TurnUsage)
  | ({ outcome: 'error'; message: string } & TurnUsage);

/** A prompt. */
export interface Question {
  prompt: string;
  /** Files of the message that the model sees. */
  attachments?: readonly PromptBlock[] | undefined;
  /** The SDK's message id, by which results are matched to prompts. */
  uuid: string;
  onEvent(event: SessionEvent): void;
  /** Why a call of a built-in tool is refused; undefined = it is not. */
  onBuiltInTool?(call: BuiltInCall): Promise<string | undefined>;
  /** A tool asks a person; absent: it is declined. */
  onQuestion?(request: ElicitationRequest, signal: AbortSignal): Promise<ElicitationResult>;
}

/** A running session. */
export interface Session {
  readonly sessionId: string;
  readonly ended: boolean;
  /**
   * Sends a prompt; resolves with the model response. Rejects with `session_failed` when the subprocess ends
   * first.
   */
  ask(question: Question): Promise<Answer>;
  /** Ends the running turn soon; its `ask` resolves with an error. */
  interrupt(): Promise<void>;
  /**
   * After a turn: it may not use the model any more, and what its tools left running ends. Resolves with false when that failed:
   * the session must end.
   */
  settle(): Promise<boolean>;
  /** Its files, in a sandbox. */
  readonly workspace?: Workspace | undefined;
  /** Sets new credentials for the MCP server; between turns only. */
  renewMcp(mcp: McpEndpoint): Promise<void>;
  /** Turns a spare into a thread's session: its whole transcript goes to this store. */
  adopt(store: TranscriptStore, onTranscript: OnTranscript): void;
  /** Whether the store has the whole conversation, so that another process could resume it. */
  readonly movable: boolean;
  /** Kills the subprocess and its children. */
  kill(): void;
  /** Resolves when its processes have ended. */
  readonly exited: Promise<void>;
}

/** Called when transcript entries could not be written, and when the store is complete again or full. */
export type OnTranscript = (state: TranscriptState) => void;

/** How to open a session. */
export interface OpenSessionRequest
  extends Omit<SessionRequest, 'store' | 'onElicitation' | 'onBuiltInTool' | 'onBreach'> {
  /** The store of its transcript; 'later' for a spare; undefined = not stored. */
  store?: TranscriptStore | 'later' | undefined;
  onTranscript: OnTranscript;
  workspace?: Workspace | undefined;
}

/** Longest wait for the MCP server to connect, ms; a turn must not run without its tools. */
const connectLimitMs = 20_000;
const connectPollMs = 25;
/** Longest start of a session, including its tools, ms. */
const startLimitMs = 30_000;
/** Pauses between attempts to write missing transcript entries, ms, doubled each time. */
const catchUpMs = { first: 500, longest: 30_000 };
const nextWait = (ms: number) => Math.min(2 * ms, catchUpMs.longest);

/** Starts the subprocess and waits until its tools are connected. Throws `session_failed`. */
export async function openSession(request: OpenSessionRequest): Promise<Session> {
  let subprocess: SessionProcess | undefined;
  const { store } = request;
  const writer = store && createTranscriptWriter(store === 'later' ? undefined : store);
  const inbox = createInbox<SDKUserMessage>();
  const asking: Asking = { onQuestion: undefined, onBuiltInTool: undefined };
  const options = sessionOptionsOf({
    ...request,
    onElicitation: async (asked, { signal }) =>
      (await asking.onQuestion?.(asked, signal)) ?? { action: 'decline' },
    onBuiltInTool: async (call) =>
      asking.onBuiltInTool ? asking.onBuiltInTool(call) : 'No turn is in progress.',
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
  const session = createSession(q, inbox, { process: () => subprocess, writer, request, asking });
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

/** Resolves when the MCP server is connected; throws after `connectLimitMs`. */
async function connected(q: Query): Promise<void> {
  const limit = AbortSignal.timeout(connectLimitMs);
  for (;;) {
    const [server] = await q.mcpServerStatus();
    if (server?.status === 'connected') return;
    if (limit.aborted)
      throw new Error(
        `its tool server is ${server?.status ?? 'missing'} (${server?.error ?? 'no reason given'})`,
      );
    await new Promise((resolve) => setTimeout(resolve, connectPollMs));
  }
}

/** Where questions of the session go: to the current turn. */
interface Asking {
  onQuestion: Question['onQuestion'] | undefined;
  onBuiltInTool: Question['onBuiltInTool'] | undefined;
}

type Pending = Question & {
  resolve(answer: Answer): void;
  reject(error: AppError): void;
};

function createSession(
  q: Query,
  inbox: ReturnType<typeof createInbox<SDKUserMessage>>,
  parts: {
    process(): SessionProcess | undefined;
    writer: TranscriptWriter | undefined;
    request: OpenSessionRequest;
    asking: Asking;
  },
): Session & { breach(reason: string): void } {
  const { request } = parts;
  const { enclosure } = request;
  let { onTranscript } = request;
  let transcript: TranscriptState = 'whole';
  let pending: Pending | undefined;
  let ended = false;
  const meter = createUsageMeter();

  const endWith = (error: AppError) => {
    ended = true;
    inbox.end();
    parts.process()?.kill();
    pending?.reject(error);
    pending = undefined;
  };
  const end = (why: string) =>
    endWith(new AppError('session_failed', `The agent process ended in the middle of a turn: ${why}`));
  const catchUp = async () => {
    if (transcript !== 'whole') return;
    transcript = 'behind';
    onTranscript(transcript);
    for (let waitMs = catchUpMs.first; transcript === 'behind' && !ended; waitMs = nextWait(waitMs)) {
      await after(waitMs, undefined, { ref: false });
      transcript = (await parts.writer?.catchUp()) ?? 'whole';
    }
    if (!ended) onTranscript(transcript);
  };
  const take = (message: SDKMessage) => {
    if (message.type === 'result') {
      const used = meter.endTurn(message);
      if (!pending || !answers(message, pending.uuid)) return;
      pending.resolve({ ...outcomeOf(message), ...used });
      pending = undefined;
      parts.asking.onBuiltInTool = undefined;
      parts.asking.onQuestion = undefined; // a question after the turn has no event log to appear in
    } else if (message.type === 'system' && lostTranscript.has(message.subtype)) {
      void catchUp();
    } else if (pending) {
      meter.see(message);
      for (const event of eventsOf(message)) pending.onEvent(event);
    }
  };
  const pump = async () => {
    for await (const message of q) take(message);
  };
  pump().then(
    () => end('it exited'),
    (error: unknown) => end(error instanceof Error ? error.message : String(error)),
  );

  const { conversation } = request;
  return {
    sessionId: 'resume' in conversation ? conversation.resume : conversation.sessionId,
    get ended() {
      return ended;
    },
    ask(question) {
      if (ended) return Promise.reject(new AppError('session_failed', 'The agent process has ended.'));
      return new Promise((resolve, reject) => {
        pending = { ...question, resolve, reject };
        meter.beginTurn();
        enclosure?.beginTurn();
        parts.asking.onQuestion = question.onQuestion;
        parts.asking.onBuiltInTool = question.onBuiltInTool;
        inbox.push({
          type: 'user',
          uuid: question.uuid as `${string}-${string}-${string}-${string}-${string}`,
          parent_tool_use_id: null,
          message: { role: 'user', content: contentOf(question) },
        });
      });
    },
    async interrupt() {
      await q.interrupt();
    },
    workspace: request.workspace,
    settle: async () => (await enclosure?.endTurn()) ?? true,
    breach(reason) {
      endWith(new AppError('sandbox_limit', `The session was ended: ${reason}.`));
      q.close();
    },
    async renewMcp(mcp) {
      await q.setMcpServers(mcpServersOf(mcp, request.profile));
      await connected(q);
    },
    get movable() {
      return transcript === 'whole';
    },
    adopt(store, told) {
      parts.writer?.bind(store);
      onTranscript = told;
    },
    get exited() {
      return parts.process()?.exited ?? Promise.resolve();
    },
    kill() {
      end('it was killed');
      q.close();
    },
  };
}

const contentOf = ({ prompt, attachments = [] }: Question) =>
  attachments.length === 0 ? prompt : [...attachments, { type: 'text' as const, text: prompt }];

/** Subtypes of the SDK's system messages after it gave up writing entries to the store. */
const lostTranscript = new Set<string>(['mirror_error', 'session_writes_lost']);

/** Whether the result is for the message: one result may name the uuids of several messages. */
function answers(result: SDKResultMessage, uuid: string): boolean {
  const named = result as { user_message_uuids?: string[]; user_message_uuid?: string };
  const uuids = named.user_message_uuids ?? (named.user_message_uuid ? [named.user_message_uuid] : undefined);
  // A failure before the turn began names no uuid; only one prompt is open at a time.
  return uuids === undefined ? result.is_error : uuids.includes(uuid);
}

/** `is_error` decides, not `subtype`: a model failure has subtype "success". */
function outcomeOf(
  result: SDKResultMessage,
): { outcome: 'success'; text: string } | { outcome: 'error'; message: string } {
  const text = textOf(result);
  return result.is_error ? { outcome: 'error', message: text } : { outcome: 'success', text };
}

/** The text of a result; with an output schema its JSON. */
function textOf(result: SDKResultMessage): string {
  if (!('result' in result)) return result.errors.join('\n');
  return result.structured_output === undefined ? result.result : JSON.stringify(result.structured_output);
}
