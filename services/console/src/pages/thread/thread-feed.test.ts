import { expect, test } from 'vitest';
import type { ThreadEvent } from './event-kinds.ts';
import { summaryOf } from './files/file-changes.ts';
import { addEvents, createFeed, cutFeed, type Feed } from './thread-feed.ts';
import { spansOf } from './turn.ts';

let count = 0;
const at = (ms: number) => new Date(1_000_000 + ms).toISOString();
const event = (type: string, ms: number, fields: object = {}): ThreadEvent => ({
  id: type === 'agent.message_delta' ? null : `${++count}-0`,
  type: type as ThreadEvent['type'],
  data: { type: type as ThreadEvent['type'], threadId: 't', runId: 'r', at: at(ms), ...fields },
});

const turn = [
  event('run.queued', 0, { seq: 1, kind: 'message' }),
  event('run.started', 100, { attempt: 1 }),
  event('agent.message_delta', 200, { text: 'Hel' }),
  event('agent.message_delta', 210, { text: 'lo' }),
  event('agent.message', 220, { text: 'Hello' }),
  event('agent.tool_use', 300, { toolUseId: 'u', name: 'time__now', input: { zone: 'UTC' } }),
  event('agent.tool_result', 350, { toolUseId: 'u', isError: false, text: '12:00' }),
  event('agent.message', 400, { text: 'It is noon.' }),
  event('run.completed', 450, {
    status: 'success',
    result: 'It is noon.',
    path: 'cold',
    timings: { queuedMs: 100, sessionMs: 60, firstTokenMs: 40, totalMs: 350 },
  }),
];
const shown = ({ rows }: Feed) =>
  rows.map((row) =>
    row.kind === 'text' ? row.text : row.kind === 'tool' ? `${row.name}=${row.result?.text}` : row.kind,
  );

test('a turn is shown once, however its events are cut into batches', () => {
  const whole = addEvents(createFeed(), turn);
  expect(shown(whole)).toEqual(['input', 'Hello', 'time__now=12:00', 'It is noon.', 'end']);
  const single = turn.reduce((feed, one) => addEvents(feed, [one]), createFeed());
  expect(single.rows).toEqual(whole.rows);
});

test('where deltas may be missing a mark says so, until the complete message is there', () => {
  const begun = addEvents(createFeed(), turn.slice(0, 3));
  const cut = addEvents(cutFeed(cutFeed(begun)), [event('agent.message_delta', 215, { text: '!' })]);
  expect(shown(cut)).toEqual(['input', 'Hel ⋯ !']);
  expect(shown(addEvents(cut, [turn[4] as ThreadEvent]))).toEqual(['input', 'Hello']);
});

test('an attempt that was lost keeps its text; the next one begins its own', () => {
  const lost = addEvents(createFeed(), turn.slice(0, 4));
  const again = addEvents(lost, [
    event('run.started', 900, { attempt: 2 }),
    event('agent.message', 950, { text: 'Hello again' }),
  ]);
  expect(shown(again)).toEqual(['input', 'Hello', 'note', 'Hello again']);
});

test('a result without any message is shown as one', () => {
  const feed = addEvents(createFeed(), [
    ...turn.slice(0, 2),
    event('run.completed', 200, { status: 'success', result: 'Only a result' }),
  ]);
  expect(shown(feed)).toEqual(['input', 'Only a result', 'end']);
});

test('the oldest rows are dropped; later changes still find their rows', () => {
  let feed = createFeed();
  for (let i = 0; i < 13_000; i++)
    feed = addEvents(feed, [
      event('agent.tool_use', i, { runId: `r${i % 100}`, toolUseId: `u${i}`, name: 'x', input: {} }),
    ]);
  feed = addEvents(feed, [
    event('agent.tool_result', 99_999, { runId: 'r99', toolUseId: 'u12999', isError: false, text: 'ok' }),
  ]);
  expect(feed.rows.length).toBeLessThanOrEqual(12_000);
  expect(feed.rows.at(-1)).toMatchObject({ key: 'tool r99 u12999', result: { text: 'ok' } });
});

test('a turn’s time is queue, session, model and tools, without a gap', () => {
  const { turns } = addEvents(createFeed(), turn);
  const { spans, totalMs } = spansOf(turns.get('r') as never, Date.now());
  expect(totalMs).toBe(450);
  expect(spans.map(({ label, fromMs, toMs }) => [label, fromMs, toMs])).toEqual([
    ['Queue', 0, 100],
    ['Session (cold)', 100, 160],
    ['Model', 160, 300],
    ['time__now', 300, 350],
    ['Model', 350, 450],
  ]);
});

test('a question is open until it has ended, by itself or with its attempt or run', () => {
  const asked = event('agent.question', 300, { questionId: 'q', message: 'Where to?', schema: {} });
  const open = addEvents(createFeed(), [...turn.slice(0, 2), asked]);
  expect([...open.questions.values()]).toEqual([
    { questionId: 'q', runId: 'r', message: 'Where to?', schema: {}, url: undefined },
  ]);
  expect(open.rows.at(-1)).toMatchObject({ kind: 'note', text: 'A tool asks: Where to?' });
  const ends = [
    event('agent.question_ended', 400, { questionId: 'q', action: 'accept' }),
    event('run.started', 400, { attempt: 2 }),
    event('run.failed', 400, { status: 'error' }),
  ];
  for (const end of ends) expect(addEvents(open, [end]).questions.size).toBe(0);
  const other = event('run.failed', 400, { runId: 'another', status: 'error' });
  expect(addEvents(open, [other]).questions.size).toBe(1);
});

test('changes of files are one line for each run, with the version that they begin with', () => {
  const files = (version: string, changed: string[], fields: object = {}) =>
    event('files.changed', 10, { runId: undefined, version, changed, more: 0, ...fields });
  const uploaded = files('v1', ['a']);
  const { rows, changes } = addEvents(createFeed(), [
    uploaded,
    ...turn.slice(0, 2),
    files('v2', ['b', 'd', 'd/e', 'd/e/f', 'g'], { runId: 'r' }),
    event('run.started', 900, { attempt: 2 }),
    files('v3', ['g', 'h'], { runId: 'r', more: 2 }),
    files('v3', [], { skipped: [{ path: 'pipe', why: 'neither a file nor a folder' }] }),
  ]);
  expect(changes).toMatchObject([
    { key: uploaded.id, version: 'v1', changed: ['a'] },
    { key: 'r', runId: 'r', before: 'v1', version: 'v3', changed: ['b', 'd/e/f', 'g', 'h'] },
    { version: 'v3', changed: [] },
  ]);
  expect(changes[0]).not.toHaveProperty('before');
  const lines = rows.flatMap((row) => (row.kind === 'files' ? [summaryOf(row.change)] : []));
  expect(lines).toEqual([
    '1 file changed: a',
    '6 files changed: b, d/e/f, g, h and 2 more',
    'not kept: pipe (neither a file nor a folder)',
  ]);
});
