/**
 * What a thread's events show. The agent's words come as deltas, which are not stored, and then as a whole message,
 * which is; they are shown once:
 *   V1 a delta is shown only where every delta of its message has been seen: the message began on this connection, live
 *   V2 of a message, what its deltas have not shown follows when it is whole
 *   V3 what was stored before the first connection is not shown: somebody has read it
 */
import { isFinalRunEvent, type ThreadEvent } from '@harness/contracts';
import { type Note, noteOf, shortTaskId } from './note-of.ts';

export type Shown =
  /** A piece of the agent's words. */
  | { kind: 'text'; text: string }
  /** The agent's words are whole for now. */
  | { kind: 'end' }
  | ({ kind: 'note' } & Note);

export interface ThreadView {
  see(event: ThreadEvent): Shown[];
  /** The connection is lost: what comes next is a replay. */
  cut(): void;
  /** Runs that have not ended, the first one first. */
  unfinished(): string[];
}

export function createThreadView(threadId: string): ThreadView {
  /** After the replay of this connection. */
  let live = false;
  let everLive = false;
  /** V1 */
  let whole = false;
  let streamed = '';
  /** The agent has said something in this run. */
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
      spoke = true;
      return [{ kind: 'text', text: String(data.text) }];
    }
    if (type === 'agent.message') return seeText(String(data.text));
    track(event);
    const silent =
      type === 'run.completed' && !spoke && typeof data.result === 'string' && data.result !== '';
    const ended = silent ? seeText(String(data.result)) : endText();
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
