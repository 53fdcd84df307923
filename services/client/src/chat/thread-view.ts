/**
 * Turns a thread's events into what is shown. The agent's text arrives as deltas, which are not stored, and then as a
 * complete message, which is stored. Every text is shown once:
 *   V1 a delta is shown only if the message started live on this connection, so that all its deltas are seen
 *   V2 when the complete message arrives, the part that its deltas have not shown is shown
 *   V3 events from before the first connection are not shown, because they were shown before
 */
import { isFinalRunEvent, type ThreadEvent } from '@harness/contracts';
import { type Note, noteOf, shortTaskId } from './note-of.ts';

/** Something to show. */
export type Shown =
  /** A piece of the agent's text. */
  | { kind: 'text'; text: string }
  /** The agent's text is complete. */
  | { kind: 'end' }
  | ({ kind: 'note' } & Note);

/** The state that is needed to show a thread. */
export interface ThreadView {
  /** Processes an event; returns what to show. */
  see(event: ThreadEvent): Shown[];
  /** The connection was lost: the next events are a replay. */
  cut(): void;
  /** Ids of runs that have not ended, oldest first. */
  unfinished(): string[];
}

/** Creates the view of a thread. */
export function createThreadView(threadId: string): ThreadView {
  /** True after the replay of this connection. */
  let live = false;
  let everLive = false;
  /** V1: the current message started live. */
  let whole = false;
  let streamed = '';
  /** The run whose text is being streamed. */
  let speaker: string | undefined;
  /** The agent has produced text in this run. */
  let spoke = false;
  const unfinished = new Set<string>();
  const tasks = new Map<string, string>();

  const endText = (): Shown[] => {
    const had = streamed !== '';
    streamed = '';
    whole = live;
    return had ? [{ kind: 'end' }] : [];
  };
  const seeText = (text: string): Shown[] => {
    // V2
    const rest = text.startsWith(streamed) ? text.slice(streamed.length) : `\n${text}`;
    streamed = '';
    whole = live;
    spoke = true;
    return [...(rest === '' ? [] : [{ kind: 'text', text: rest } as const]), { kind: 'end' }];
  };
  const track = ({ type, data }: ThreadEvent) => {
    if (data.runId === undefined) return;
    if (isFinalRunEvent(type)) unfinished.delete(data.runId);
    else if (type === 'run.queued' || type === 'run.started') unfinished.add(data.runId);
    if (type === 'run.started') spoke = false;
  };
  const seeOwn = (event: ThreadEvent): Shown[] => {
    const { type, data } = event;
    if (type === 'agent.message_delta') {
      if (!whole) return [];
      streamed += data.text;
      speaker = data.runId;
      spoke = true;
      return [{ kind: 'text', text: String(data.text) }];
    }
    if (type === 'agent.message') return seeText(String(data.text));
    track(event);
    const silent =
      type === 'run.completed' && !spoke && typeof data.result === 'string' && data.result !== '';
    // A message that is sent meanwhile does not end the text of the run before it.
    const isOfAnother = data.runId !== undefined && data.runId !== speaker && type === 'run.queued';
    const ended = silent ? seeText(String(data.result)) : isOfAnother ? [] : endText();
    const note = noteOf(event, true);
    return note ? [...ended, { kind: 'note', ...note }] : ended;
  };
  const seeOther = (event: ThreadEvent): Shown[] => {
    if (event.type === 'agent.message_delta' || event.type === 'agent.message') return [];
    const note = noteOf(event, false);
    const { threadId = '' } = event.data;
    const taskId = tasks.get(threadId);
    const tag = event.type.startsWith('agent.') && taskId !== undefined ? `${shortTaskId(taskId)} ` : '';
    return note ? [{ kind: 'note', ...note, text: `${tag}${note.text}` }] : [];
  };

  return {
    see(event) {
      const { type, data } = event;
      if (type === 'stream.replayed') {
        live = true;
        everLive = true;
        return [];
      }
      if (type === 'task.created') tasks.set(String(data.taskThreadId), String(data.taskId));
      const shown = data.threadId === threadId ? seeOwn(event) : seeOther(event);
      return everLive ? shown : []; // V3
    },
    cut() {
      live = false;
      whole = false;
    },
    unfinished: () => [...unfinished],
  };
}
