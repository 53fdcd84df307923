import type { EventType, ThreadEvent } from '@harness/contracts';
import { expect, test } from 'vitest';
import { checkBus } from './bus-checker.ts';

const sent = [
  { taskId: 'a', priority: 0, requires: [] },
  { taskId: 'b', priority: 5, requires: ['gpu'] },
];
const eventsOf = (lines: string[]): ThreadEvent[] =>
  lines.map((line, n) => {
    const [state, taskId, worker] = line.split(' ');
    const type = `bus.task_${state}` as EventType;
    return { id: `${n}-0`, type, data: { type, at: '', taskId, worker } };
  });
const good = [
  'queued a',
  'queued b',
  'assigned b gpu-1',
  'in_progress b',
  'queued b',
  'assigned a w1',
  'assigned b gpu-1',
  'in_progress b',
  'done b',
  'in_progress a',
  'done a',
];

test('a correct history has no faults', () => {
  expect(checkBus(eventsOf(good), sent)).toEqual([]);
});

test.each([
  [
    'a second holder',
    [...good.slice(0, 4), 'assigned b gpu-2', ...good.slice(4)],
    'while it was in_progress',
  ],
  ['a second result', [...good, 'done a'], 'ended 2 times'],
  ['no result', good.slice(0, -1), 'ended 0 times'],
  ['the wrong worker', good.map((line) => line.replaceAll('gpu-1', 'w2')), 'has not what it requires'],
  [
    'the wrong order',
    ['queued a', 'queued b', 'assigned a gpu-1', ...good.slice(2)],
    'a (0, 0) before b (5, 1)',
  ],
  ['a stranger', ['queued c', ...good], 'not submitted'],
])('%s is found', (_what, lines, words) => {
  expect(checkBus(eventsOf(lines), sent).join('\n')).toContain(words);
});
