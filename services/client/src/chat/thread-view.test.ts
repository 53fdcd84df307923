import type { EventType, ThreadEvent } from '@harness/contracts';
import { expect, test } from 'vitest';
import { createThreadView, type Shown } from './thread-view.ts';

const [own, child] = ['thr_own', 'thr_child'];
let ids = 0;
const event = (type: EventType, data: object = {}, threadId = own): ThreadEvent => ({
  id: type === 'agent.message_delta' || type === 'stream.replayed' ? null : `${++ids}-0`,
  type,
  data: { type, threadId, runId: 'run_1', at: '', ...data },
});
const delta = (text: string) => event('agent.message_delta', { text });
const message = (text: string) => event('agent.message', { text });
const replayed = event('stream.replayed');
const started = event('run.started', { attempt: 1 });

/** What a person has seen; `|` marks where the agent's text was complete. */
const readIn = (shown: Shown[]): string =>
  shown.map((one) => (one.kind === 'end' ? '|' : one.kind === 'text' ? one.text : `[${one.text}]`)).join('');
const seeAll = (events: (ThreadEvent | 'cut')[]) => {
  const view = createThreadView(own);
  const shown = events.flatMap((one) => {
    if (one !== 'cut') return view.see(one);
    view.cut();
    return [];
  });
  return { view, read: readIn(shown) };
};

test.each<[string, (ThreadEvent | 'cut')[], string]>([
  [
    'deltas, and then the message that they were',
    [replayed, started, delta('ab'), delta('c'), message('abc')],
    'abc|',
  ],
  [
    'a message whose deltas another message of the person interrupts, once',
    [replayed, started, delta('ab'), event('run.queued', { runId: 'run_2' }), delta('c'), message('abc')],
    'abc|',
  ],
  ['a message without deltas', [replayed, started, message('abc')], 'abc|'],
  [
    'the rest of a message whose deltas were cut off',
    [replayed, started, delta('ab'), 'cut', replayed, delta('ef'), message('abcdef')],
    'abcdef|',
  ],
  ['no delta of a message whose beginning was missed', [replayed, delta('yz'), message('xyz')], 'xyz|'],
  [
    'no delta of a message whose beginning was before the replay',
    [
      replayed,
      started,
      'cut',
      event('agent.tool_use', { name: 'x', input: {} }),
      replayed,
      delta('b'),
      message('ab'),
    ],
    '[→ x {}]ab|',
  ],
  [
    'deltas again once a message begins live',
    [replayed, delta('y'), message('xy'), delta('z'), message('z')],
    'xy|z|',
  ],
  [
    'the text of a second attempt, after that of the first',
    [replayed, started, delta('ab'), event('run.started', { attempt: 2 }), delta('x'), message('xy')],
    'ab|[The run starts again, attempt 2]xy|',
  ],
  ['a message that is not what its deltas were', [replayed, started, delta('ab'), message('cd')], 'ab\ncd|'],
  ['a result without a message', [replayed, started, event('run.completed', { result: 'done' })], 'done|'],
  [
    'nothing twice that was streamed',
    [replayed, started, message('done'), event('run.completed', { result: 'done' })],
    'done|',
  ],
  [
    'nothing from before, but the text of a run that continues',
    [started, message('old'), replayed, delta('x'), message('new')],
    'new|',
  ],
  [
    'an interrupted message',
    [replayed, started, delta('ab'), event('run.cancelled')],
    'ab|[The run was interrupted.]',
  ],
])('shows %s', (_what, events, read) => {
  expect(seeAll(events).read).toBe(read);
});

test('sub-agents are shown by their tools and tasks, with the task’s id, without their messages', () => {
  const task = { taskId: 'task_0123456789', taskThreadId: child };
  const { read } = seeAll([
    replayed,
    event('task.created', { ...task, prompt: 'make\ntea' }),
    event('agent.message_delta', { text: 'words' }, child),
    event('agent.message', { text: 'words' }, child),
    event('agent.tool_use', { name: 'kettle__boil', input: { litres: 1 } }, child),
    event('agent.tool_result', { isError: true, text: 'no water' }, child),
    event('agent.tool_result', { isError: false, text: '{"message":"it boils","litres":1}' }, child),
    event('run.failed', { error: { message: 'x' } }, child),
    event('task.checkin', { ...task, message: 'half way' }),
  ]);
  expect(read).toBe(
    '[task_012345 delegated: make tea][task_012345 → kettle__boil {"litres":1}][task_012345 ✗ no water][task_012345 ← it boils][task_012345 checks in: half way]',
  );
});

test('unfinished runs are those that were queued or started and have not ended, also before the first connection', () => {
  const { view } = seeAll([
    event('run.queued', { runId: 'a' }),
    event('run.queued', { runId: 'b' }),
    event('run.started', { runId: 'a' }),
    event('run.completed', { runId: 'a' }),
    replayed,
    event('run.queued', { runId: 'c' }),
    event('run.queued', { runId: 'd' }, child),
  ]);
  expect(view.unfinished()).toEqual(['b', 'c']);
});
