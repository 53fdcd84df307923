import { expect, test } from 'vitest';
import { createFailures } from './failures.ts';
import { failureOf, perform } from './perform.ts';
import type { Reply } from './reply.ts';

/** Records its calls. */
function createNotes(): Reply & { notes: string[] } {
  const notes: string[] = [];
  const note = (what: string) => () => void notes.push(what);
  return {
    notes,
    streams: true,
    text: (delta) => void notes.push(delta),
    use: ({ name }) => void notes.push(name),
    keepAlive: note('(ping)'),
    cut: note('(cut)'),
    end: note('(end)'),
  };
}

test.each([{ kind: 'hang' }, { kind: 'sleep', ms: 600_000 }] as const)(
  '$kind ends when the client disconnects',
  async (action) => {
    const gone = new AbortController();
    const reply = createNotes();
    const performed = perform([action], { reply, signal: gone.signal });
    gone.abort();
    await expect(performed).rejects.toThrow(/abort/i);
    expect(reply.notes).toEqual([]);
  },
);

test('a long sleep keeps the stream alive', async () => {
  const reply = createNotes();
  const { signal } = new AbortController();
  await perform([{ kind: 'sleep', ms: 11 }], { reply, signal, keepAliveEveryMs: 5 });
  expect(reply.notes).toEqual(['(ping)', '(ping)', '(end)']);
});

test('of several failures the first one that is due is used, after the sleeps above it', () => {
  const failures = createFailures();
  const due = () =>
    failureOf(
      [
        { kind: 'sleep', ms: 5 },
        { kind: 'fail', status: 529, times: 1, line: '1' },
        { kind: 'sleep', ms: 6 },
        { kind: 'fail', status: 500, times: 1, line: '2' },
      ],
      failures,
      'session',
    );
  expect(due()).toMatchObject({ status: 529, afterMs: 5 });
  expect(due()).toMatchObject({ status: 500, afterMs: 11 });
  expect(due()).toBeUndefined();
});
