import { expect, test } from 'vitest';
import { openFleet, shareFleet } from '../open-fleet.ts';
import { keys, openTerminal, runChat } from '../open-terminal.ts';

const sharedFleet = shareFleet();

test('--message: the response on stdout, notes on stderr, success as the exit code', async () => {
  const { url, get } = await sharedFleet();
  const send = (message: string, ...args: string[]) =>
    runChat({ url, args: ['--message', message, ...args] });
  const first = await send('remember: plum\ncall: time__current_time {}');
  expect([first.code, first.stderr]).toEqual([0, expect.stringContaining('→ time__current_time {}\n← ')]);
  const [threadId = ''] = /thr_[0-9a-f]{32}/.exec(first.stderr) ?? [];

  const second = await send('recall:', '--thread', threadId, '--model', 'other');
  expect([second.code, second.stdout]).toEqual([0, expect.stringMatching(/^[^\n]*plum[^\n]*\n$/)]);
  expect(await get(`/v1/threads/${threadId}`)).toMatchObject({ model: 'other' });

  const failed = await send('fail: 400');
  expect([failed.code, failed.stdout]).toEqual([1, '']);
  expect(failed.stderr).toContain('The run has failed');
  expect(await send('say: one\u001b[2Jtwo')).toMatchObject({ code: 0, stdout: 'onetwo\n' });

  const command = await send('/help');
  expect([command.code, command.stdout]).toEqual([0, expect.stringContaining('Built-in commands:')]);
  expect(await send('/nothing')).toMatchObject({ code: 1, stdout: '' });
  expect(await send('//nothing')).toMatchObject({ code: 0, stdout: 'You said: /nothing\n' });
});

test('--json: one line for each event of the conversation', async () => {
  const { url } = await sharedFleet();
  const { code, stdout } = await runChat({ url, args: ['--json', '--message', 'stream: 20'] });
  const events = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string | null; type: string; data: { text?: string } });
  const textOf = (type: string) =>
    events
      .filter((event) => event.type === type)
      .map(({ data }) => data.text)
      .join('');
  expect(code).toBe(0);
  expect(events[0]?.type).toBe('run.queued');
  expect(events.at(-1)).toMatchObject({ type: 'run.completed', data: { status: 'success' } });
  expect(textOf('agent.message_delta')).toBe(textOf('agent.message'));
  expect(textOf('agent.message')).toContain('20');
});

test('lines from a pipe are sent one after another; the chat ends after the response to the last one', async () => {
  const { url } = await sharedFleet();
  const input = 'stream: 30\n/model large\n\nsay: two\nrecall:';
  const piped = await runChat({ url, input });
  const numbers = Array.from({ length: 30 }, (_, n) => n + 1).join(' ');
  expect(piped.stdout.split('\n').slice(0, 3)).toEqual([
    expect.stringContaining(numbers),
    'The model is large from the next turn on.',
    'two',
  ]);
  expect(piped.code).toBe(0);
  expect(await runChat({ url, input: 'say: one\n/nothing\nsay: two\n' })).toMatchObject({
    code: 1,
    stdout: 'one\ntwo\n',
    stderr: expect.stringContaining('There is no command /nothing'),
  });
  expect(await runChat({ url, input: 'say: one\n/quit\nsay: two\n' })).toMatchObject({
    code: 0,
    stdout: 'one\nGoodbye.\n',
  });
});

test('Ctrl-C ends the run, and then the program; later lines are not sent', async () => {
  const { url, get } = await sharedFleet();
  const input = 'stream: 2000\nsay: never\n';
  const { code, stdout, stderr } = await runChat({
    url,
    args: ['--json'],
    input,
    interruptAt: '"run.started"',
  });
  expect([code, stdout]).toEqual([130, expect.stringContaining('"run.cancelled"')]);
  const [threadId] = /thr_[0-9a-f]{32}/.exec(stderr) ?? [];
  const { runs } = await get<{ runs: { status: string }[] }>(`/v1/threads/${threadId}/runs`);
  expect(runs.map(({ status }) => status)).toEqual(['cancelled']);
});

test('a terminal that cannot move its cursor is used like a pipe', async () => {
  const { url } = await sharedFleet();
  const terminal = openTerminal({ url, env: { TERM: 'dumb' } });
  await terminal.until(/thread thr_/);
  terminal.type('say: plain\r');
  await terminal.until(/\nplain\n/);
  terminal.type(keys.end);
  expect(await terminal.exited).toBe(0);
  expect(terminal.raw()).not.toContain('\u001b');
});

test('each problem at the start is one clear line', async () => {
  const { url } = await openFleet({ env: { HARNESS_API_KEY: 'a-key-of-the-gateway' } });
  const run = async (at: string, args: string[], env = {}) => {
    const { code, stdout, stderr } = await runChat({ url: at, args: ['--message', 'say: x', ...args], env });
    return { code, stdout, lines: stderr.trimEnd().split('\n') };
  };
  const key = { HARNESS_API_KEY: 'a-key-of-the-gateway' };
  const line = (words: string) => ({ code: 1, stdout: '', lines: [expect.stringContaining(words)] });
  expect(await run('http://127.0.0.1:1', [])).toEqual(line('run "npm start" first'));
  expect(await run(url, [])).toEqual(line('HARNESS_API_KEY'));
  expect(await run(url, ['--agent', 'nobody'], key)).toEqual(line('There is no agent "nobody".'));
  expect(await run(url, ['--thread', `thr_${'0'.repeat(32)}`], key)).toEqual(line('There is no thread'));
  expect(await run(url, ['--thread', '..'], key)).toEqual(line('--thread must be'));
  expect(await run(url, [], key)).toMatchObject({ code: 0, stdout: 'x\n' });
});
