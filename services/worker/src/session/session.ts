/**
 * One Agent SDK session (a subprocess with one conversation) seen as questions and events.
 *
 * States: opening -> idle <-> answering -> ended. `ask` is allowed in idle only; the owner serialises. A session that
 * ended stays ended: whoever holds it opens another.
 */
import { setTimeout as after } from 'node:timers/promises';
import {
  type Query,
  query,
  type SDKMessage,
  type SDKResultMessage,
  type SDKUserMessage,
} from '@anthropic-ai/claude-agent-sdk';
import { AppError, type Usage } from '@harness/contracts';
import type { TranscriptState, TranscriptStore } from '@harness/dispatch';
import { withTimeLimit } from '@harness/plugin-kit';
import { createInbox } from './inbox.ts';
import { eventsOf, type SessionEvent } from './session-events.ts';
import {
  type McpEndpoint,
  mcpServersOf,
  type SessionProcess,
  type SessionRequest,
  sessionOptionsOf,
} from './session-options.ts';
import { createTranscriptWriter, type TranscriptWriter } from './transcript-writer.ts';

export type Answer =
  | { outcome: 'success'; text: string; usage: Usage }
  | { outcome: 'error'; message: string; usage: Usage };

export interface Question {
  prompt: string;
  /** The SDK's message id: the run's UUID, so that a result can be told from another's. */
  uuid: string;
  onEvent(event: SessionEvent): void;
}

export interface Session {
  readonly sessionId: string;
  readonly ended: boolean;
  /** Resolves with the turn's result; rejects with `session_failed` when the subprocess dies first. */
  ask(question: Question): Promise<Answer>;
  /** Ends the running turn soon; its `ask` resolves with an error. */
  interrupt(): Promise<void>;
  /** New credentials for the MCP server, between turns. */
  renewMcp(mcp: McpEndpoint): Promise<void>;
  /** A spare becomes a thread's: its transcript goes there from its first entry. */
  adopt(store: TranscriptStore, onTranscript: OnTranscript): void;
  /** The store has all of its conversation: another process could go on with it. */
  readonly movable: boolean;
  /** Ends the subprocess and all it started, at once. */
  kill(): void;
  /** Resolves when its processes are gone. */
  readonly exited: Promise<void>;
}

/** Told when entries could not be written, and when all are. */
export type OnTranscript = (state: TranscriptState) => void;

export interface OpenSessionRequest extends Omit<SessionRequest, 'store'> {
  /** Where its transcript goes; 'later' for a spare. */
  store?: TranscriptStore | 'later' | undefined;
  onTranscript: OnTranscript;
}

/** Longest wait for the MCP server to be connected, ms: a turn without its tools would be a wrong turn. */
const connectLimitMs = 20_000;
const connectPollMs = 25;
/** Longest start of a session, ms; its tools included. */
const startLimitMs = 30_000;
/** Pauses between tries to write what is missing of a transcript, doubled each time. */
const catchUpMs = { first: 500, longest: 30_000 };
const nextWait = (ms: number) => Math.min(2 * ms, catchUpMs.longest);

/** Starts the subprocess and waits until its tools are there. Throws `session_failed`. */
export async function openSession(request: OpenSessionRequest): Promise<Session> {
  let subprocess: SessionProcess | undefined;
  const { store } = request;
  const writer = store && createTranscriptWriter(store === 'later' ? undefined : store);
  const inbox = createInbox<SDKUserMessage>();
  const options = sessionOptionsOf({
    ...request,
    store: writer?.store,
    onProcess(process) {
      subprocess = process;
      request.onProcess(process);
    },
  });
  const q = query({ prompt: inbox, options });
  const session = createSession(q, inbox, { process: () => subprocess, writer, request });
  try {
    const ready = request.mcp ? connected(q) : q.initializationResult();
    // A process that answers nothing must not hold its turn for ever.
    const timeoutError = () => new Error(`it did not answer within ${startLimitMs} ms`);
    await withTimeLimit<unknown>({ timeoutMs: startLimitMs, timeoutError }, () => ready);
    return session;
  } catch (cause) {
    session.kill();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AppError('session_failed', `The agent session did not start: ${reason}`, { cause });
  }
}

/** A process that answers nothing must not hold its turn for ever. */
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
  },
): Session {
  const { request } = parts;
  let { onTranscript } = request;
  let transcript: TranscriptState = 'whole';
  let pending: Pending | undefined;
  let ended = false;
  let totalCostUsd = 0;

  const end = (why: string) => {
    ended = true;
    inbox.end();
    parts.process()?.kill();
    pending?.reject(
      new AppError('session_failed', `The agent process ended in the middle of a turn: ${why}`),
    );
    pending = undefined;
  };
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
      const costUsd = costOf(message, totalCostUsd);
      totalCostUsd = message.total_cost_usd;
      if (!pending || !answers(message, pending.uuid)) return;
      pending.resolve(answerOf(message, costUsd));
      pending = undefined;
    } else if (message.type === 'system' && lostTranscript.has(message.subtype)) {
      void catchUp();
    } else if (pending) {
      for (const event of eventsOf(message)) pending.onEvent(event);
    }
  };
  const pump = async () => {
    for await (const message of q) take(message);
  };
  pump().then(
    () => end('it left'),
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
        inbox.push({
          type: 'user',
          uuid: question.uuid as `${string}-${string}-${string}-${string}-${string}`,
          parent_tool_use_id: null,
          message: { role: 'user', content: question.prompt },
        });
      });
    },
    async interrupt() {
      await q.interrupt();
    },
    async renewMcp(mcp) {
      await q.setMcpServers(mcpServersOf(mcp));
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

/** What the SDK says when it gives up writing an entry to the store. */
const lostTranscript = new Set<string>(['mirror_error', 'session_writes_lost']);

/** What one turn cost. The total goes on over a resume, so its difference is only the fallback. */
function costOf(result: SDKResultMessage, before: number): number {
  const { model_usage_since_last_result: since } = result as {
    model_usage_since_last_result?: Record<string, { costUSD?: number }>;
  };
  if (!since) return Math.max(0, result.total_cost_usd - before);
  return Object.values(since).reduce((sum, { costUSD = 0 }) => sum + costUSD, 0);
}

/** Several messages may be answered by one result, so a result is joined on the uuids it names. */
function answers(result: SDKResultMessage, uuid: string): boolean {
  const named = result as { user_message_uuids?: string[]; user_message_uuid?: string };
  const uuids = named.user_message_uuids ?? (named.user_message_uuid ? [named.user_message_uuid] : undefined);
  // A failure before the turn began names nobody; only one question is open at a time.
  return uuids === undefined ? result.is_error : uuids.includes(uuid);
}

/** `is_error` decides, not `subtype`: a model failure comes as subtype "success". */
function answerOf(result: SDKResultMessage, costUsd: number): Answer {
  const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } = result.usage;
  const usage: Usage = {
    inputTokens: input_tokens + (cache_read_input_tokens ?? 0) + (cache_creation_input_tokens ?? 0),
    outputTokens: output_tokens,
    costUsd,
  };
  const text = textOf(result);
  return result.is_error ? { outcome: 'error', message: text, usage } : { outcome: 'success', text, usage };
}

/** An answer by a schema is its JSON, whatever was written around it. */
function textOf(result: SDKResultMessage): string {
  if (!('result' in result)) return result.errors.join('\n');
  return result.structured_output === undefined ? result.result : JSON.stringify(result.structured_output);
}
