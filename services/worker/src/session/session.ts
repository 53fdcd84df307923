/**
 * One Agent SDK session: a subprocess with one conversation, used through prompts and events.
 *
 * States: opening -> idle <-> responding -> ended. `ask` is allowed in idle only; the caller serialises. An
 * ended session cannot be reused.
 *
 * This folder:
 *   start-session.ts       starts one
 *   session-options.ts     the SDK's options; starts the subprocess
 *   mcp-endpoint.ts        its tool server
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
 *   tool-search.ts         whether a session searches for its tools
 */
import { setTimeout as after } from 'node:timers/promises';
import type {
  ElicitationRequest,
  ElicitationResult,
  Query,
  SDKMessage,
  SDKResultMessage,
  SDKUserMessage,
} from '@anthropic-ai/claude-agent-sdk';
import { AppError } from '@harness/contracts';
import type { TranscriptState, TranscriptStore } from '@harness/dispatch';
import { type Embedded, type EmbeddedDeps, type Outputs, outputsOf } from '../sandbox/embedded-commands.ts';
import type { FinishResult } from '../sandbox/proxies/tool-relay.ts';
import type { BuiltInCall } from '../sandbox/tool-rules.ts';
import type { PromptBlock } from '../workspace/attachments.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { createInbox } from './inbox.ts';
import { connected, type McpEndpoint } from './mcp-endpoint.ts';
import { createUsageMeter, type TurnUsage } from './model-usage.ts';
import { eventsOf, type SessionEvent } from './session-events.ts';
import { mcpServersOf, type SessionProcess, type SessionRequest } from './session-options.ts';
import type { TranscriptWriter } from './transcript-writer.ts';

/** The model's response to a prompt; `error`: the model or the SDK failed, but the session continues. */
export type ModelResponse =
  | ({ outcome: 'success'; text: string } & TurnUsage)
  | ({ outcome: 'error'; message: string } & TurnUsage);

/** A prompt. */
export interface Prompt {
  prompt: string;
  /** Files of the message that the model sees. */
  attachments?: readonly PromptBlock[] | undefined;
  /** The SDK's message id, by which results are matched to prompts. */
  uuid: string;
  onEvent(event: SessionEvent): void;
  /** Why a call of a built-in tool is refused; undefined = it is not. */
  onBuiltInTool?(call: BuiltInCall): Promise<string | undefined>;
  /** Asks a person on behalf of a tool; absent: the question is declined. */
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
  ask(prompt: Prompt): Promise<ModelResponse>;
  /** Ends the running turn soon; its `ask` resolves with an error. */
  interrupt(): Promise<void>;
  /**
   * Called after a turn: the session may no longer use the model, and processes that its tools left running are ended. Resolves
   * with false when some could not be ended: the session must end.
   */
  settle(): Promise<boolean>;
  /** Runs the embedded commands of a skill, before a prompt. Without a sandbox none run. */
  runEmbedded(embedded: Embedded, deps: Pick<EmbeddedDeps, 'refusalOf' | 'signal'>): Promise<Outputs>;
  /** The files of its thread; only in a sandbox. */
  readonly workspace?: Workspace | undefined;
  /** Sets new credentials for the MCP server; between turns only. */
  renewMcp(mcp: McpEndpoint): Promise<void>;
  /** Turns a spare into a thread's session: its whole transcript goes to this store. */
  adopt(store: TranscriptStore, onTranscript: OnTranscript): void;
  /** Whether the store has the whole conversation, so that another process could resume it. */
  readonly movable: boolean;
  /** Writes the entries that the store has not taken yet, also after the session has ended. Returns the state of the store after that. */
  storeRest(): Promise<TranscriptState>;
  /** Kills the subprocess and its children. */
  kill(): void;
  /** Resolves when its processes have ended. */
  readonly exited: Promise<void>;
}

/** Called when transcript entries could not be written, and when the store is complete again or full. */
export type OnTranscript = (state: TranscriptState) => void;

/** Pauses between attempts to write missing transcript entries, ms, doubled each time. */
const catchUpMs = { first: 500, longest: 30_000 };
const nextWait = (ms: number) => Math.min(2 * ms, catchUpMs.longest);

/** Where questions of the session go: to the current turn. */
export interface Asking {
  onQuestion: Prompt['onQuestion'] | undefined;
  onBuiltInTool: Prompt['onBuiltInTool'] | undefined;
}

type Pending = Prompt & {
  resolve(response: ModelResponse): void;
  reject(error: AppError): void;
};

/** A session around a query that has been started. `breach` ends it, with the reason. */
export function createSession(
  q: Query,
  inbox: ReturnType<typeof createInbox<SDKUserMessage>>,
  parts: {
    process(): SessionProcess | undefined;
    writer: TranscriptWriter | undefined;
    request: Pick<SessionRequest, 'profile' | 'conversation' | 'enclosure'> & {
      onTranscript: OnTranscript;
      workspace?: Workspace | undefined;
    };
    asking: Asking;
    finishResult: FinishResult | undefined;
  },
): Session & { breach(reason: string): void } {
  const { request } = parts;
  const { enclosure } = request;
  let pending: Pending | undefined;
  let ended = false;
  const meter = createUsageMeter();
  const transcript = followTranscript(parts.writer, request.onTranscript, () => ended);
  parts.writer?.notify(() => void transcript.catchUp());

  const endWith = (error: AppError) => {
    ended = true;
    inbox.end();
    parts.process()?.kill();
    void enclosure?.stopRuns();
    pending?.reject(error);
    pending = undefined;
  };
  const end = (why: string) =>
    endWith(new AppError('session_failed', `The agent process ended in the middle of a turn: ${why}`));
  const take = (message: SDKMessage) => {
    if (message.type === 'result') {
      const used = meter.endTurn(message);
      if (!pending || !isFor(message, pending.uuid)) return;
      pending.resolve({ ...outcomeOf(message), ...used });
      pending = undefined;
      parts.asking.onBuiltInTool = undefined;
      parts.asking.onQuestion = undefined; // a question after the turn has no event log to appear in
    } else if (message.type === 'system' && lostTranscript.has(message.subtype)) {
      void transcript.catchUp();
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
    ask(prompt) {
      if (ended) return Promise.reject(new AppError('session_failed', 'The agent process has ended.'));
      return new Promise((resolve, reject) => {
        pending = { ...prompt, resolve, reject };
        meter.beginTurn();
        enclosure?.beginTurn();
        parts.asking.onQuestion = prompt.onQuestion;
        parts.asking.onBuiltInTool = prompt.onBuiltInTool;
        inbox.push({
          type: 'user',
          uuid: prompt.uuid as `${string}-${string}-${string}-${string}-${string}`,
          parent_tool_use_id: null,
          message: { role: 'user', content: contentOf(prompt) },
        });
      });
    },
    async interrupt() {
      await q.interrupt();
    },
    workspace: request.workspace,
    async runEmbedded(embedded, deps) {
      if (!enclosure || ended) return new Map();
      enclosure.beginTurn();
      return outputsOf(embedded, { ...deps, run: enclosure.run });
    },
    settle: async () => (await enclosure?.endTurn()) ?? true,
    breach(reason) {
      endWith(new AppError('sandbox_limit', `The session was ended: ${reason}.`));
      q.close();
    },
    async renewMcp(mcp) {
      await q.setMcpServers(mcpServersOf(mcp, request.profile, parts.finishResult));
      await connected(q);
    },
    get movable() {
      return transcript.isWhole();
    },
    adopt(store, listener) {
      parts.writer?.bind(store);
      transcript.notify(listener);
    },
    storeRest: async () => (await parts.writer?.catchUp()) ?? 'whole',
    get exited() {
      return Promise.resolve(parts.process()?.exited).then(() => enclosure?.stopRuns());
    },
    kill() {
      end('it was killed');
      q.close();
    },
  };
}

/** Follows how much of the conversation the store has, and writes what it lacks. */
function followTranscript(
  writer: TranscriptWriter | undefined,
  onTranscript: OnTranscript,
  isEnded: () => boolean,
) {
  let listener = onTranscript;
  let state: TranscriptState = 'whole';
  return {
    isWhole: () => state === 'whole',
    notify(next: OnTranscript) {
      listener = next;
    },
    /** Called when entries could not be written: retries until the store is complete or full. */
    async catchUp() {
      if (state !== 'whole') return;
      state = 'behind';
      listener(state);
      for (let waitMs = catchUpMs.first; state === 'behind' && !isEnded(); waitMs = nextWait(waitMs)) {
        await after(waitMs, undefined, { ref: false });
        state = (await writer?.catchUp()) ?? 'whole';
      }
      if (!isEnded()) listener(state);
    },
  };
}

const contentOf = ({ prompt, attachments = [] }: Prompt) =>
  attachments.length === 0 ? prompt : [...attachments, { type: 'text' as const, text: prompt }];

/** Subtypes of the SDK's system messages after it gave up writing entries to the store. */
const lostTranscript = new Set<string>(['mirror_error', 'session_writes_lost']);

/** Whether the result is for the message: one result may name the uuids of several messages. */
function isFor(result: SDKResultMessage, uuid: string): boolean {
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
