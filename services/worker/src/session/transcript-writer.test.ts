import { AppError } from '@harness/contracts';
import type { TranscriptEntry, TranscriptStore } from '@harness/dispatch';
import { expect, test } from 'vitest';
import { createTranscriptWriter } from './transcript-writer.ts';

const key = { sessionId: 's' };
const entry = (uuid: string): TranscriptEntry => ({ type: 'user', uuid });

/** A store that refuses writes while `state.refusal` is set. */
function openStore() {
  const written: string[] = [];
  const state = { refusal: undefined as Error | undefined };
  const store: TranscriptStore = {
    async append(_, entries) {
      if (state.refusal) throw state.refusal;
      written.push(...entries.map(({ uuid }) => String(uuid)));
    },
    load: async () => null,
    listSessions: async () => [],
    listSubkeys: async () => [],
    delete: async () => undefined,
  };
  return { store, written, state };
}

test('entries that could not be written are written first later, once, in order', async () => {
  const { store, written, state } = openStore();
  const writer = createTranscriptWriter(store);
  await writer.store.append(key, [entry('a')]);
  state.refusal = new Error('away');
  const batch = [entry('b')];
  for (let tries = 0; tries < 3; tries++)
    await expect(writer.store.append(key, batch)).rejects.toThrow('away');
  expect(await writer.catchUp()).toBe('behind');
  state.refusal = undefined;
  await writer.store.append(key, [entry('c')]);
  expect(written).toEqual(['a', 'b', 'c']);
  expect(await writer.catchUp()).toBe('whole');
});

test('a store that does not answer delays the SDK once; what it missed is written later, in order', async () => {
  const { store, written } = openStore();
  const answering = Promise.withResolvers<void>();
  const slow: TranscriptStore = {
    ...store,
    append: (...given) => answering.promise.then(() => store.append(...given)),
  };
  const writer = createTranscriptWriter(slow);
  let behind = 0;
  writer.notify(() => behind++);
  for (const uuid of ['a', 'b', 'c']) await writer.store.append(key, [entry(uuid)]);
  expect([written, behind]).toEqual([[], 1]);
  answering.resolve();
  expect(await writer.catchUp()).toBe('whole');
  expect(written).toEqual(['a', 'b', 'c']);
});

test('while Redis is unavailable the SDK is not told: the entries are written later', async () => {
  const { store, written, state } = openStore();
  const writer = createTranscriptWriter(store);
  state.refusal = new AppError('unavailable', 'Redis is full');
  await writer.store.append(key, [entry('a')]);
  expect(await writer.catchUp()).toBe('behind');
  state.refusal = undefined;
  expect(await writer.catchUp()).toBe('whole');
  expect(written).toEqual(['a']);
});

test('the last entries are written without a further append', async () => {
  const { store, written, state } = openStore();
  const writer = createTranscriptWriter(store);
  state.refusal = new Error('away');
  await expect(writer.store.append(key, [entry('a')])).rejects.toThrow('away');
  state.refusal = undefined;
  expect(await writer.catchUp()).toBe('whole');
  expect(written).toEqual(['a']);
});

test('a transcript at its size limit is not extended', async () => {
  const { store, written, state } = openStore();
  const writer = createTranscriptWriter(store);
  await writer.store.append(key, [entry('a')]);
  state.refusal = new AppError('body_too_large', 'full');
  await expect(writer.store.append(key, [entry('b')])).rejects.toThrow('full');
  state.refusal = undefined;
  expect(await writer.catchUp()).toBe('full');
  await expect(writer.store.append(key, [entry('c')])).rejects.toMatchObject({ code: 'body_too_large' });
  expect(written).toEqual(['a']);
});

test('a worker that lost the thread keeps no entries for it', async () => {
  const { store, written, state } = openStore();
  const writer = createTranscriptWriter(store);
  state.refusal = new AppError('stale_epoch', 'another owner');
  await expect(writer.store.append(key, [entry('a')])).rejects.toMatchObject({ code: 'stale_epoch' });
  state.refusal = undefined;
  expect(await writer.catchUp()).toBe('whole');
  expect(written).toEqual([]);
});

test('entries of a spare wait for its thread', async () => {
  const { store, written } = openStore();
  const writer = createTranscriptWriter();
  await writer.store.append(key, [entry('a')]);
  writer.bind(store);
  await writer.store.append(key, [entry('b')]);
  expect(written).toEqual(['a', 'b']);
});
