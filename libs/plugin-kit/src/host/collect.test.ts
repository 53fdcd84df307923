import { expect, it } from 'vitest';
import { collectTools } from './collect.ts';

const tool = (name: string) => ({ name, description: 'x', schema: {}, handler: () => name });
const plugin = (name: string, ...names: string[]) => ({
  name,
  version: '1',
  register: () => undefined,
  tools: names.map(tool),
});

it('qualifies names and keeps plugin order', () => {
  const collected = collectTools([
    plugin('b', 'y', 'x'),
    { name: 'old', version: '1', register: () => ({}) },
    plugin('a', 'x'),
  ]);
  expect(collected.map(({ qualifiedName }) => qualifiedName)).toEqual(['b__y', 'b__x', 'a__x']);
  expect(collected[2]).toMatchObject({ name: 'x', pluginName: 'a', description: 'x', schema: {} });
});

it('binds the handler of a class to its object', () => {
  class Counter {
    name = 'count';
    description = 'x';
    schema = {};
    #count = 41;
    handler() {
      this.#count += 1;
      return String(this.#count);
    }
  }
  const [collected] = collectTools([{ ...plugin('p'), tools: [new Counter()] }]);
  expect(Reflect.apply(collected?.handler ?? (() => ''), undefined, [])).toBe('42');
});
