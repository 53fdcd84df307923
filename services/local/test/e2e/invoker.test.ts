import { expect, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';

test('a hook calls a model in the slot of its turn: streamed, in one conversation per key, ended at its time limit', async () => {
  const fleet = await openFleet({
    env: { HARNESS_PLUGINS: new URL('../invoking-plugin.ts', import.meta.url).pathname },
  });
  const threadId = await fleet.thread();
  const invoke = async (prompt: string, options: object = {}) =>
    JSON.parse((await fleet.ask(threadId, `invoke ${JSON.stringify({ prompt, options })}`)).result ?? '');

  expect(await invoke('stream: 5')).toEqual({ text: expect.any(String), streamed: true, whole: true });
  await invoke('remember: plum', { sessionId: 'a' });
  expect((await invoke('recall:', { sessionId: 'a' })).text).toContain('plum');
  expect((await invoke('recall:', { sessionId: 'b' })).text).not.toContain('plum');
  expect(await invoke('hang:', { sessionId: 'a', timeout: 1000 })).toEqual({ code: 'invoke_timeout' });
  expect((await invoke('recall:', { sessionId: 'a' })).text).not.toContain('plum'); // the time-out ended that conversation
  expect(await invoke('fail: 400', { sessionId: 'c' })).toEqual({ code: 'model_error' });
});
