import { expect, test } from 'vitest';
import { createScrubber } from '../secrets/scrubber.ts';
import { createLogger, type LoggerOptions } from './logger.ts';

const secret = `sk-${'ant'}-api03-${'x1'.repeat(20)}`;

/** A logger at trace, and the lines that it has written. */
function openLogger(options: LoggerOptions = {}) {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  return { lines, logger: createLogger('test', 'trace', { ...options, destination }) };
}

test('no line has a secret: message, fields, nested fields, bindings, errors and their causes', () => {
  const { lines, logger } = openLogger();
  const cause = new Error(`refused: ${secret}`);
  logger.info(`text ${secret}`);
  logger.debug({ a: { b: [{ c: secret }] } }, 'nested');
  logger.child({ bound: secret }).warn({ token: 'a b c' }, 'bound');
  logger.error({ err: new Error(`outer ${secret}`, { cause }) }, 'failed');
  logger.trace({ [secret]: 1 }, 'as a name');
  expect(lines).toHaveLength(5);
  for (const line of lines) expect(JSON.parse(line).service).toBe('test');
  expect(lines.join('')).not.toMatch(/sk-ant|a b c/);
  expect(JSON.parse(lines[3] ?? '').err.stack).toMatch(/^Error: outer \[secret\]\n {4}at .*/);
});

test('a logger uses the scrubber that it is given', () => {
  const { lines, logger } = openLogger({ scrubber: createScrubber({ values: ['open sesame'] }) });
  logger.info({ said: 'open sesame!' }, 'said');
  expect(JSON.parse(lines[0] ?? '').said).toBe('[secret]!');
});

test('a very long text is cut between words, so that no part of a secret stays', () => {
  const { lines, logger } = openLogger();
  logger.info({ long: `${'word '.repeat(1_637)} ${secret} ${'x'.repeat(100_000)}`, short: 'kept' }, 'long');
  const { long, short } = JSON.parse(lines[0] ?? '');
  expect(short).toBe('kept');
  expect(long).toMatch(/word {1,2}… \(\d+ characters\)$/);
});
