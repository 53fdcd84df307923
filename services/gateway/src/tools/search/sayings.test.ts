import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { loadSayings, parseSayings, sayingsIn } from './sayings.ts';
import { rootOf } from './words.ts';

const sayings = parseSayings(`
# What people say
get rid of | throw/chuck away = delete   # and no more
put aside = stash
put aside for later = schedule
robot = agent
all the time =
a line that says nothing
`);

const meaningsIn = (question: string, among = sayings) =>
  sayingsIn(question.split(' ').map(rootOf), among).map(({ saying }) => saying.meaning.join(' '));

describe('the sayings in a question', () => {
  test.each([
    ['get rid of the card', ['delet']],
    ['throw it away', ['delet']],
    ['chuck that old card away', ['delet']],
    ['robots and robot', ['agent', 'agent']],
    ['he complains all the time', ['']],
  ])('%s', (question, expected) => {
    expect(meaningsIn(question)).toEqual(expected);
  });

  test.each([
    ['in another order', 'away with what I throw'],
    ['too far from each other', 'throw one two three four away'],
    ['only a part', 'throw it'],
    ['unknown words', 'constructor __proto__ toString hasOwnProperty'],
    ['no words', ''],
  ])('none: %s', (_, question) => {
    expect(meaningsIn(question)).toEqual([]);
  });

  test('the longer phrase is meant, and each word is of one saying', () => {
    expect(meaningsIn('put it aside for later')).toEqual(['schedul']);
    expect(sayingsIn(['put', 'asid', 'asid'], sayings)).toHaveLength(1);
  });
});

describe('the sayings of the gateway', () => {
  const lines = readFileSync(new URL('./sayings.txt', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const known = loadSayings();
  const all = [...known.values()].flat();

  test('every line has phrases and what they mean', () => {
    expect(lines.filter((line) => !/^[^=|]+(?:\|[^=|]+)*=[^=|]*$/.test(line))).toEqual([]);
    expect(all.length).toBeGreaterThan(lines.length);
  });

  test('no phrase is there twice, or longer than a question says it', () => {
    const phrases = all.map(({ phrase }) => phrase.join(' '));
    expect(phrases.filter((phrase, at) => phrases.indexOf(phrase) !== at)).toEqual([]);
    expect(all.filter(({ phrase }) => phrase.length > 6)).toEqual([]);
  });

  test('each phrase is found where it is said', () => {
    const missed = all.filter(({ phrase }) => sayingsIn(phrase, known).length === 0);
    expect(missed).toEqual([]);
  });
});
