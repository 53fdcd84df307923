import { homedir } from 'node:os';
import { expect, test } from 'vitest';
import { loadChatConfig } from './config.ts';

test('defaults: a local gateway and a history in the home folder', () => {
  expect(loadChatConfig({}, [])).toEqual({
    url: 'http://127.0.0.1:8080',
    apiKey: undefined,
    threadId: undefined,
    agent: undefined,
    model: undefined,
    message: undefined,
    json: false,
    help: false,
    historyFile: `${homedir()}/.local/state/harness/chat-history`,
    cursor: true,
  });
});

test('reads the environment and the command line', () => {
  const env = {
    HARNESS_URL: 'https://x.test/base/',
    HARNESS_API_KEY: 'k',
    XDG_STATE_HOME: '/state',
    TERM: 'dumb',
  };
  const thread = `thr_${'0'.repeat(32)}`;
  const args = ['--thread', thread, '--agent', 'a', '--model=m', '--message', '/help', '--json'];
  expect(loadChatConfig(env, args)).toMatchObject({
    url: 'https://x.test/base',
    apiKey: 'k',
    threadId: thread,
    agent: 'a',
    model: 'm',
    message: '/help',
    json: true,
    historyFile: '/state/harness/chat-history',
    cursor: false,
  });
});

test.each([
  [{ HARNESS_URL: 'localhost:8080' }, [], 'HARNESS_URL'],
  [{ HARNESS_URL: 'file:///etc' }, [], 'HARNESS_URL'],
  [{}, ['--thread', 'a b'], '--thread'],
  [{}, ['--thread', '..'], '--thread'],
  [{}, ['--message', ' '], '--message'],
  [{}, ['--nothing'], 'Usage:'],
  [{}, ['stray'], 'Usage:'],
])('%j %j is refused with %s', (env, args, words) => {
  expect(() => loadChatConfig(env, args)).toThrow(words);
});
