/**
 * A conversation with one thread at a time: sends messages and commands, follows the events, and knows when a run has
 * ended. It does not know the terminal; it reports through `deps`.
 *
 * - `main.ts`           `npm run chat`
 * - `config.ts`         environment and options
 * - `terminal/`         the chat in a terminal
 * - `lines.ts`          the chat without a terminal
 * - `gateway-client.ts` REST calls to the gateway
 * - `command-answer.ts` the response to a command
 * - `file-commands.ts`  /files, /get and /put
 * - `follow-events.ts`  the events of a thread, over reconnections
 * - `thread-view.ts`    turns events into what is shown
 * - `note-of.ts`        one-line descriptions of events
 * - `line-of.ts`        distinguishes messages from commands
 * - `printable.ts`      removes escapes and control characters
 */
import { randomUUID } from 'node:crypto';
import { type Answer, isFinalRunEvent, type Run, type Thread, type ThreadEvent } from '@harness/contracts';
import { GatewayRefusal } from '@harness/runtime';
import type { CommandAnswer } from './command-answer.ts';
import { fileCommands, runFileCommand } from './file-commands.ts';
import { followEvents, pause } from './follow-events.ts';
import { GatewayAway, type GatewayClient } from './gateway-client.ts';
import type { AskedQuestion } from './terminal/answering.ts';
import { createThreadView, type Shown } from './thread-view.ts';

/** What a chat needs, and its callbacks. */
export interface ChatDeps {
  client: GatewayClient;
  onShown(shown: Shown[]): void;
  /** Called for every event since the chat was opened, in order. */
  onEvent?(event: ThreadEvent): void;
  onAway(reason: string): void;
  onBack(): void;
  /** Events during a lost connection are no longer stored. */
  onGap(): void;
  /** A tool asks a question; undefined: the question has ended. Without this method the chat answers no questions. */
  onQuestion?(question: AskedQuestion | undefined): void;
  /** The conversation cannot continue: the thread was deleted, or the API key is no longer valid. */
  onBroken(error: Error): void;
}

/** Which thread to open; without `threadId` a new one. */
export interface ChatWish {
  threadId?: string | undefined;
  agent?: string | undefined;
  model?: string | undefined;
}

/** How a run ended. */
export type RunEnd = Pick<Run, 'status' | 'result' | 'error'>;

/** An open chat. */
export interface Chat {
  readonly threadId: string;
  /** Resolves with the run's id when the message is accepted. Retries with the same key while the gateway is unreachable. */
  send(text: string): Promise<string>;
  /** Resolves when the run has ended. */
  ended(runId: string): Promise<RunEnd>;
  /** Runs a command; continues in a new thread if its action is `clear`. */
  command(line: string): Promise<CommandAnswer>;
  /** Answers a question of a tool. */
  answer(questionId: string, answer: Answer): Promise<void>;
  /** Whether a run is in progress or waits. */
  isBusy(): boolean;
  /** Cancels the oldest unfinished run. Returns false if there is none. */
  interrupt(): Promise<boolean>;
  close(): Promise<void>;
}

const fileHelp = [
  'Files of this thread, here and there',
  ...fileCommands.map(({ name, hint, description }) => `  ${`/${name} ${hint}`.padEnd(18)} ${description}`),
].join('\n');

/** Pause between two attempts to send, ms. */
const retryMs = 1_000;

/** Ends that are kept, because a run may end before its sender knows its id. */
const maxEnds = 100;

/** A thread whose events are shown. */
interface Followed {
  thread: Thread;
  unfinished(): string[];
  /** Stops following; resolves when it has stopped. */
  leave(): Promise<void>;
}

/** Opens or creates the thread and follows its events. Throws GatewayAway and GatewayRefusal. */
export async function openChat(deps: ChatDeps, wish: ChatWish): Promise<Chat> {
  const { client } = deps;
  const ends = createRunEnds(client);
  const closed = new AbortController();
  let now = await followThread(await threadFor(client, wish), deps, ends);
  const startAfresh = async () => {
    const { threadId } = now.thread;
    const { agent, model } = await client.call<Thread>('GET', `/v1/threads/${threadId}`);
    const thread = await threadFor(client, { agent: agent ?? undefined, model: model ?? undefined });
    const next = await followThread(thread, deps, ends);
    await now.leave();
    now = next;
  };

  return {
    get threadId() {
      return now.thread.threadId;
    },
    async send(input) {
      const { threadId } = now.thread;
      const request = { body: { input }, headers: { 'idempotency-key': randomUUID() } };
      for (;;) {
        try {
          const run = await client.call<Run>('POST', `/v1/threads/${threadId}/runs`, request);
          return run.runId;
        } catch (error) {
          if (!(error instanceof GatewayAway) || closed.signal.aborted) throw error;
          await pause(retryMs, closed.signal);
        }
      }
    },
    ended: ends.of,
    async command(line) {
      const { threadId } = now.thread;
      const own = await runFileCommand(client, threadId, line);
      if (own) return own;
      const answer = await client.call<CommandAnswer>('POST', `/v1/threads/${threadId}/commands`, {
        body: { command: line },
      });
      if (answer.action === 'clear') await startAfresh();
      return /^\/help\s*$/.test(line) ? { ...answer, output: `${answer.output}\n\n${fileHelp}` } : answer;
    },
    async answer(questionId, body) {
      const { threadId } = now.thread;
      await client.call('POST', `/v1/threads/${threadId}/questions/${questionId}`, { body });
    },
    isBusy: () => now.unfinished().length > 0,
    async interrupt() {
      const { threadId } = now.thread;
      const [runId] = now.unfinished();
      if (runId === undefined) return false;
      await client.call('POST', `/v1/threads/${threadId}/runs/${runId}/cancel`);
      return true;
    },
    async close() {
      closed.abort();
      await now.leave();
    },
  };
}

/** The ends of runs: an end may arrive before or after the caller waits for it. */
interface RunEnds {
  add(runId: string, end: RunEnd): void;
  /** Resolves when the run has ended. */
  of(runId: string): Promise<RunEnd>;
  /** Asks for the runs whose final event may have been missed, because the log is limited. */
  askFor(thread: Thread): Promise<void>;
}

function createRunEnds(client: GatewayClient): RunEnds {
  const ends = new Map<string, RunEnd>();
  const waiting = new Map<string, (end: RunEnd) => void>();
  const add = (runId: string, end: RunEnd) => {
    ends.set(runId, end);
    const [oldest] = ends.size > maxEnds ? ends.keys() : [];
    if (oldest !== undefined) ends.delete(oldest);
    waiting.get(runId)?.(end);
    waiting.delete(runId);
  };
  return {
    add,
    of: (runId) =>
      new Promise((resolve) => {
        const end = ends.get(runId);
        if (end) resolve(end);
        else waiting.set(runId, resolve);
      }),
    async askFor({ threadId }) {
      for (const runId of waiting.keys()) {
        const run = await client.call<Run>('GET', `/v1/threads/${threadId}/runs/${runId}`);
        if (run.endedAt !== null) add(runId, run);
      }
    },
  };
}

/** Shows the thread's events. Resolves when all events until now are shown; rejects if they cannot be read. */
async function followThread(thread: Thread, deps: ChatDeps, ends: RunEnds): Promise<Followed> {
  const { client } = deps;
  const { threadId } = thread;
  let view = createThreadView(threadId);
  const left = new AbortController();
  const ready = Promise.withResolvers<void>();
  let everLive = false;
  const answers = deps.onQuestion ? '&answers=true' : '';
  const tree = thread.parentThreadId === null ? '&children=true' : ''; // only a root thread can show its tree
  const take = (event: ThreadEvent) => {
    if (everLive) deps.onEvent?.(event);
    deps.onShown(view.see(event));
    if (everLive && event.data.threadId === threadId) askIn(event, deps);
    const { runId } = event.data;
    if (runId !== undefined && isFinalRunEvent(event.type)) ends.add(runId, endOf(event));
    if (event.type !== 'stream.replayed') return;
    ends.askFor(thread).catch(() => undefined); // asked again after the next reconnection
    everLive = true;
    ready.resolve();
  };
  const run = async () => {
    const events = followEvents({
      url: `${client.url}/v1/threads/${threadId}/events?follow=true${tree}${answers}`,
      headers: client.headers,
      signal: left.signal,
      onAway(reason) {
        view.cut();
        deps.onAway(reason);
      },
      onBack: deps.onBack,
      onGap() {
        view = createThreadView(threadId);
        everLive = false;
        deps.onGap();
      },
    });
    for await (const event of events) take(event);
  };
  const over = run().catch((error: Error) => {
    ready.reject(error);
    if (everLive) deps.onBroken(brokenBy(error));
  });
  await ready.promise;
  return {
    thread,
    unfinished: () => view.unfinished(),
    leave() {
      left.abort();
      return over;
    },
  };
}

function askIn({ type, data }: ThreadEvent, { onQuestion }: ChatDeps): void {
  if (type === 'agent.question') onQuestion?.(data as unknown as AskedQuestion);
  if (type === 'agent.question_ended' || isFinalRunEvent(type)) onQuestion?.(undefined);
}

function threadFor(client: GatewayClient, { threadId, ...profile }: ChatWish): Promise<Thread> {
  const body = Object.fromEntries(Object.entries(profile).filter(([, value]) => value !== undefined));
  if (threadId === undefined) return client.call('POST', '/v1/threads', { body });
  const path = `/v1/threads/${threadId}`;
  return Object.keys(body).length === 0 ? client.call('GET', path) : client.call('PATCH', path, { body });
}

const endOf = ({ data }: ThreadEvent): RunEnd => ({
  status: data.status as RunEnd['status'],
  result: (data.result as string | undefined) ?? null,
  error: (data.error as RunEnd['error'] | undefined) ?? null,
});

function brokenBy(error: Error): Error {
  const status = error instanceof GatewayRefusal ? error.status : 0;
  if (status === 404) return new Error('The thread no longer exists.', { cause: error });
  if (status === 401 || status === 403)
    return new Error('The API key is no longer valid: set HARNESS_API_KEY.', { cause: error });
  return error;
}
