import { expect, test } from 'vitest';
import { inventoryOf } from './inventory.ts';

test('the inventory has a short line for each plugin and worker', () => {
  const plugins = [
    { name: 'time', version: '1.0.0', tools: ['current_time'] },
    { name: 'quiet', version: '2', tools: [] },
    { name: 'large', version: '10.1.0', tools: Array.from({ length: 400 }, (_, n) => `tool_${n}`) },
  ];
  const workers = [
    { workerId: 'wrk_1', maxSessions: 5 },
    { workerId: 'wrk_2', maxSessions: 1 },
  ];
  expect(inventoryOf({ url: '', plugins }, workers).split('\n')).toEqual([
    '  Plugins   time 1.0.0    current_time',
    '            quiet 2       no tools',
    '            large 10.1.0  tool_0, tool_1, tool_2, tool_3, tool_4, tool_5 and 394 more',
    '  Tools     401',
    '  Workers   wrk_1 is ready for 5 sessions',
    '            wrk_2 is ready for 1 sessions',
  ]);
});
