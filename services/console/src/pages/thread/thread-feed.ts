/**
 * A thread's events as what a person sees: rows of a conversation, and the turns with their times. Pure: the same events
 * make the same rows, however they are cut into batches.
 *
 *   F1 the text of a message is shown once: its deltas first, the complete message in their place
 *   F2 deltas are not stored. Where some may be missing, a mark says so until the complete message is there
 */
import { isFinalRunEvent, type ThreadEvent } from './event-kinds.ts';
import { addChange, type FileChange } from './files/file-changes.ts';
import { type Question, questionsAfter } from './open-questions.ts';
import type { Turn } from './turn.ts';

/** A row of the conversation. `key` never changes; the object does when its content does. */
export type Row =
  | { kind: 'input'; key: string; runId: string; runKind: string; seq: number; at: string }
  | { kind: 'text'; key: string; runId: string; text: string; live: boolean }
  | ToolRow
  | { kind: 'files'; key: string; change: FileChange }
  | { kind: 'note'; key: string; text: string; tone: 'plain' | 'bad' | 'good'; at: string }
  | { kind: 'end'; key: string; runId: string; turn: Turn };

/** A tool call; `result` is absent while it runs. */
export interface ToolRow {
  kind: 'tool';
  key: string;
  runId: string;
  name: string;
  input: unknown;
  at: string;
  result?: { text: string; isError: boolean; at: string };
}

/** What the events have made so far. Its parts are changed in place; each change gives a new Feed around them. */
export interface Feed {
  readonly rows: Row[];
  /** By run id, in the order of the mailbox. */
  readonly turns: Map<string, Turn>;
  /** Open questions by id, the oldest first. */
  readonly questions: ReadonlyMap<string, Question>;
  /** Changes of the thread's files, in order. */
  readonly changes: FileChange[];
  /** The stored events, for the log. */
  readonly log: ThreadEvent[];
  /** Index in `rows` by key. */
  readonly at: Map<string, number>;
}

/** A thread before its first event. */
export const createFeed = (): Feed => ({
  rows: [],
  turns: new Map(),
  questions: new Map(),
  changes: [],
  log: [],
  at: new Map(),
});

/** Most rows and events that are kept: beyond it the oldest are dropped, as in the gateway's own log. */
const most = 10_000;
const atOnce = 2_000;
const gap = ' ⋯ ';

/** Adds events in order. */
export function addEvents(before: Feed, events: readonly ThreadEvent[]): Feed {
  const feed = { ...before, questions: questionsAfter(before.questions, events) };
  for (const event of events) {
    if (event.id !== null) feed.log.push(event);
    addEvent(feed, event);
  }
  if (feed.log.length > most + atOnce) feed.log.splice(0, feed.log.length - most);
  if (feed.changes.length > most + atOnce) feed.changes.splice(0, feed.changes.length - most);
  if (feed.rows.length > most + atOnce) forgetRows(feed, feed.rows.length - most);
  return feed;
}

/** Marks that deltas may be missing from here on (F2). */
export function cutFeed(feed: Feed): Feed {
  for (const [index, row] of feed.rows.entries())
    if (row.kind === 'text' && row.live && !row.text.endsWith(gap))
      feed.rows[index] = { ...row, text: row.text + gap };
  return { ...feed };
}

function forgetRows(feed: Feed, count: number): void {
  for (const row of feed.rows.splice(0, count)) {
    feed.at.delete(row.key);
    if (row.kind === 'end') feed.turns.delete(row.runId);
  }
  for (const [key, index] of feed.at) feed.at.set(key, index - count);
}

function put(draft: Feed, row: Row): void {
  const found = draft.at.get(row.key);
  if (found !== undefined) {
    draft.rows[found] = row;
    return;
  }
  draft.at.set(row.key, draft.rows.length);
  draft.rows.push(row);
}

function change(draft: Feed, runId: string, change: Partial<Turn>): Turn {
  const turn: Turn = { ...(draft.turns.get(runId) ?? { runId, tools: [], texts: 0 }), ...change };
  draft.turns.set(runId, turn);
  return turn;
}

function addEvent(draft: Feed, event: ThreadEvent): void {
  const { id, type, data } = event;
  const { runId = '', at } = data;
  const note = (text: string, tone: 'plain' | 'bad' | 'good' = 'plain') =>
    put(draft, { kind: 'note', key: `note ${id}`, text, tone, at });
  if (isFinalRunEvent(type)) {
    end(draft, runId, data);
    return;
  }
  switch (type) {
    case 'run.queued':
      change(draft, runId, { seq: Number(data.seq), kind: String(data.kind), queuedAt: at });
      put(draft, {
        kind: 'input',
        key: `in ${runId}`,
        runId,
        runKind: String(data.kind),
        seq: Number(data.seq),
        at,
      });
      return;
    case 'run.started': {
      const attempt = Number(data.attempt);
      const before = draft.turns.get(runId);
      change(draft, runId, { attempt, startedAt: before?.startedAt ?? at });
      settle(draft, runId);
      if (attempt > 1) note(`Its worker was lost: attempt ${attempt}`, 'bad');
      return;
    }
    case 'agent.message_delta':
    case 'agent.message':
      say(draft, { runId, at, text: String(data.text), isWhole: type === 'agent.message' });
      return;
    case 'agent.tool_use': {
      settle(draft, runId);
      const key = `tool ${runId} ${data.toolUseId}`;
      put(draft, { kind: 'tool', key, runId, name: String(data.name), input: data.input, at });
      const turn = change(draft, runId, {});
      change(draft, runId, {
        firstAt: turn.firstAt ?? at,
        tools: [...turn.tools, { id: String(data.toolUseId), name: String(data.name), from: at }],
      });
      return;
    }
    case 'agent.tool_result':
      addResult(draft, runId, data);
      return;
    case 'files.changed': {
      const change = addChange(draft.changes, event);
      put(draft, { kind: 'files', key: `files ${change.key}`, change });
      return;
    }
    case 'session.warm': {
      const running = [...draft.turns.values()].findLast((turn) => turn.startedAt && !turn.endedAt);
      if (running) change(draft, running.runId, { warmAt: at });
      return;
    }
    default: {
      const text = noteOf(type, data);
      if (text) note(...text);
    }
  }
}

function addResult(draft: Feed, runId: string, data: ThreadEvent['data']): void {
  const key = `tool ${runId} ${data.toolUseId}`;
  const row = draft.rows[draft.at.get(key) ?? -1];
  if (row?.kind !== 'tool') return;
  const isError = data.isError === true;
  put(draft, { ...row, result: { text: String(data.text), isError, at: data.at } });
  const turn = draft.turns.get(runId);
  if (!turn) return;
  const tools = turn.tools.map((tool) =>
    tool.id === data.toolUseId ? { ...tool, to: data.at, isError } : tool,
  );
  draft.turns.set(runId, { ...turn, tools });
}

/** F1: the text that is being written, or the complete one in its place. */
function say(draft: Feed, said: { runId: string; at: string; text: string; isWhole: boolean }): void {
  const { runId, at, text, isWhole } = said;
  const turn = change(draft, runId, {});
  const firstAt = turn.firstAt ?? at;
  const key = `text ${runId} ${turn.texts}`;
  const row = draft.rows[draft.at.get(key) ?? -1];
  const shown = row?.kind === 'text' ? row.text : '';
  put(draft, { kind: 'text', key, runId, text: isWhole ? text : shown + text, live: !isWhole });
  change(draft, runId, { firstAt, texts: isWhole ? turn.texts + 1 : turn.texts });
}

/** Text whose complete message never came (the attempt was lost) stays as it is. */
function settle(draft: Feed, runId: string): void {
  const turn = draft.turns.get(runId);
  const index = turn && draft.at.get(`text ${runId} ${turn.texts}`);
  const row = index === undefined ? undefined : draft.rows[index];
  if (!turn || row?.kind !== 'text') return;
  put(draft, { ...row, live: false });
  change(draft, runId, { texts: turn.texts + 1 });
}

function end(draft: Feed, runId: string, data: ThreadEvent['data']): void {
  settle(draft, runId);
  const known = draft.turns.get(runId);
  const { status, error, usage, timings, path, result } = data as Partial<Turn> & { result?: string };
  if (known && known.texts === 0 && typeof result === 'string' && result !== '')
    say(draft, { runId, at: data.at, text: result, isWhole: true });
  const turn = change(draft, runId, {
    endedAt: data.at,
    ...(status && { status }),
    ...(error && { error }),
    ...(usage && { usage }),
    ...(timings && { timings }),
    ...(path && { path }),
  });
  put(draft, { kind: 'end', key: `end ${runId}`, runId, turn });
}

type Note = [text: string, tone?: 'plain' | 'bad' | 'good'];

const task = (data: ThreadEvent['data']) => String(data.taskId).slice(0, 13);

const answered: Readonly<Record<string, string>> = {
  accept: 'The question was answered',
  decline: 'The question was declined',
};

function noteOf(type: string, data: ThreadEvent['data']): Note | undefined {
  switch (type) {
    case 'agent.question':
      return [`A tool asks: ${String(data.message)}`];
    case 'agent.question_ended':
      return [answered[String(data.action)] ?? 'The question was not answered'];
    case 'session.moved':
      return [`The session moved to worker ${String(data.workerId).slice(0, 12)}`];
    case 'task.created':
      return [`${task(data)} delegated: ${String(data.prompt)}`];
    case 'task.checkin':
      return [`${task(data)} checks in: ${String(data.message)}`];
    case 'task.review_started':
      return [`${task(data)} is reviewed, iteration ${data.iteration}`];
    case 'task.review_ended':
      return data.verdict === 'satisfied'
        ? [`${task(data)} is accepted`, 'good']
        : [`${task(data)} is not accepted: ${data.feedback ?? data.verdict}`, 'bad'];
    case 'task.completed':
      return [`${task(data)} has completed`, 'good'];
    case 'task.failed':
      return [`${task(data)} has failed`, 'bad'];
    case 'task.cancelled':
      return [`${task(data)} is cancelled`];
    case 'tools.changed':
      return ['The tools of this thread have changed'];
    default:
      return undefined;
  }
}
