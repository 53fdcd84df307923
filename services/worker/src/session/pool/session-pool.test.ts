import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createFakeSession, type FakeSession } from '../../../test/fake-session.ts';
import type { SessionProfile } from '../session-options.ts';
import { createSessionPool } from './session-pool.ts';

const idleTtlMs = 1000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function openPool(maxSessions = 2) {
  const opened: FakeSession[] = [];
  const evicted: string[] = [];
  const pool = createSessionPool({
    maxSessions: () => maxSessions,
    idleTtlMs,
    onEvict: (key) => void evicted.push(key),
  });
  const lend = (key: string, profile: Partial<SessionProfile> = {}, guest = false) =>
    pool.lend({
      key,
      guest,
      profile: { model: undefined, systemPrompt: undefined, tools: undefined, ...profile },
      async open() {
        const session = createFakeSession(`${key} ${opened.length}`);
        opened.push(session);
        return { session, path: 'cold' };
      },
    });
  return { pool, lend, opened, evicted };
}

test('the key alone finds the session: the second message is warm', async () => {
  const { pool, lend } = openPool();
  const first = await lend('a');
  pool.give('a');
  expect(await lend('a')).toEqual({ session: first.session, path: 'warm' });
});

test('a changed profile rebuilds the session, the old one ends', async () => {
  const { pool, lend, opened } = openPool();
  await lend('a', { model: 'small' });
  pool.give('a');
  expect((await lend('a', { model: 'large' })).path).toBe('cold');
  expect(opened.map((session) => session.ended)).toEqual([true, false]);
});

test('guests are evicted before threads, however recently they were used', async () => {
  const { pool, lend, evicted } = openPool(2);
  for (const key of ['thread', 'other']) {
    await lend(key);
    pool.give(key);
  }
  for (const key of ['review-1', 'review-2']) {
    await lend(key, {}, true);
    pool.give(key);
  }
  expect(evicted).toEqual(['review-1', 'review-2']);
  expect([pool.has('thread'), pool.has('other')]).toEqual([true, true]);
});

test('when it is full, the least recently used idle session ends, never a busy one', async () => {
  const { pool, lend, evicted } = openPool(2);
  await lend('busy');
  await lend('idle');
  pool.give('idle');
  await lend('next');
  expect(evicted).toEqual(['idle']);
  await lend('over'); // both are busy: nothing to end
  expect(pool.counts()).toMatchObject({ sessions: 3, busy: 3 });
  pool.give('busy');
  expect(evicted).toEqual(['idle', 'busy']); // trimmed to the limit as soon as one is idle
});

test('sessions are evicted in order of their last use', async () => {
  const { pool, lend, evicted } = openPool(2);
  for (const key of ['a', 'b', 'a']) {
    await lend(key);
    pool.give(key);
  }
  await lend('c');
  expect(evicted).toEqual(['b']);
});

test('an idle session ends after the idle time, a busy one does not', async () => {
  const { pool, lend, evicted } = openPool();
  await lend('idle');
  await lend('busy');
  pool.give('idle');
  vi.advanceTimersByTime(idleTtlMs);
  expect(evicted).toEqual(['idle']);
  expect(pool.has('busy')).toBe(true);
});

test('a session that died is not lent again', async () => {
  const { pool, lend, opened } = openPool();
  await lend('a');
  opened[0]?.die();
  pool.give('a');
  expect((await lend('a')).path).toBe('cold');
});

test('a guest enters a full pool without evicting a session', async () => {
  const { pool, lend, evicted } = openPool(1);
  await lend('host');
  pool.give('host');
  await lend('guest', {}, true);
  expect(evicted).toEqual([]);
  pool.give('guest');
  expect(evicted).toEqual(['guest']);
});

test('closing ends all', async () => {
  const { pool, lend, opened } = openPool();
  await lend('a');
  await lend('b');
  pool.close();
  expect(opened.every((session) => session.ended)).toBe(true);
});

test('a session that another worker could not resume is evicted last', async () => {
  const { pool, lend, opened, evicted } = openPool(2);
  for (const key of ['behind', 'whole']) {
    await lend(key);
    pool.give(key);
  }
  Object.assign(opened[0] as object, { movable: false });
  await lend('next');
  await lend('over');
  expect(evicted).toEqual(['whole', 'behind']);
});
