import { afterAll, beforeAll, expect, test } from 'vitest';
import { createScriptedModel, type ScriptedModel } from './server.ts';

let model: ScriptedModel;
beforeAll(async () => {
  model = await createScriptedModel();
});
afterAll(() => model.close());

interface Event {
  type: string;
  delta?: { text?: string; partial_json?: string; stop_reason?: string };
  content_block?: { type: string; name?: string };
  message?: { model: string };
}

const messages = (text: string) => ({ messages: [{ role: 'user', content: text }] });

const post = (body: unknown, init: RequestInit = {}, path = '/v1/messages?beta=true') =>
  fetch(model.url + path, { method: 'POST', body: JSON.stringify(body), ...init });

const streamed = (text: string, init: RequestInit = {}) => post({ ...messages(text), stream: true }, init);

const eventsOf = (text: string): Event[] =>
  text
    .split('\n\n')
    .filter(Boolean)
    .map((part) => JSON.parse(part.slice(part.indexOf('data: ') + 'data: '.length)));

const textOf = (events: Event[]) => events.map((event) => event.delta?.text ?? '').join('');

test('a text is streamed as one block in a few deltas, by scripted-model', async () => {
  const response = await streamed('say: one two three four five');
  const events = eventsOf(await response.text());
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(events.map((event) => event.type)).toEqual([
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_delta',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
  expect(events[0]?.message?.model).toBe('scripted-model');
  expect(textOf(events)).toBe('one two three four five');
  expect(events.at(-2)?.delta?.stop_reason).toBe('end_turn');
});

test('a tool use follows the text as a separate block', async () => {
  const events = eventsOf(await (await streamed('say: a\ncall: time__now {"zone":"UTC"}')).text());
  const blocks = events.flatMap((event) => event.content_block ?? []);
  expect(blocks).toMatchObject([
    { type: 'text' },
    { type: 'tool_use', name: 'mcp__harness__time__now', input: {} },
  ]);
  expect(events.find((event) => event.delta?.partial_json)?.delta?.partial_json).toBe('{"zone":"UTC"}');
  expect(events.at(-2)?.delta?.stop_reason).toBe('tool_use');
});

test('stream: N sends N deltas', async () => {
  const events = eventsOf(await (await streamed('stream: 7')).text());
  expect(events.filter((event) => event.type === 'content_block_delta')).toHaveLength(7);
});

test('without stream the response is one message', async () => {
  const answer = await (await post(messages('say: a\nstream: 3\ncall: time__now'))).json();
  expect(answer).toMatchObject({
    id: expect.stringMatching(/^msg_/),
    type: 'message',
    role: 'assistant',
    model: 'scripted-model',
    stop_reason: 'tool_use',
    content: [
      { type: 'text', text: 'a\n1 2 3' },
      { type: 'tool_use', id: expect.stringMatching(/^toolu_/), name: 'mcp__harness__time__now', input: {} },
    ],
    usage: { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  });
});

test('fail: STATUS TIMES is counted by session and text', async () => {
  const status = async (session: string, before: string[] = []) => {
    const texts = [...before, 'fail: 529 1\nsay: ok'].map((content) => ({ role: 'user', content }));
    const headers = { 'x-claude-code-session-id': session };
    return (await post({ messages: texts, stream: true }, { headers })).status;
  };
  expect([await status('a'), await status('a'), await status('b'), await status('b')]).toEqual([
    529, 200, 529, 200,
  ]);
  expect([await status('a', ['earlier']), await status('a', ['earlier'])]).toEqual([529, 200]);
});

test('the session may be identified by metadata only, and fail: STATUS fails always', async () => {
  const fail = async (script: string) =>
    (await post({ ...messages(script), metadata: { user_id: 'someone' } })).status;
  expect([await fail('fail: 429 1'), await fail('fail: 429 1')]).toEqual([429, 200]);
  expect([await fail('fail: 500'), await fail('fail: 500'), await fail('fail: 500')]).toEqual([
    500, 500, 500,
  ]);
});

test('a failure has the shape of Anthropic’s API', async () => {
  expect(await (await streamed('fail: 529')).json()).toEqual({
    type: 'error',
    error: { type: 'overloaded_error', message: expect.any(String) },
  });
});

test('cut: breaks the connection after the first delta, every time', async () => {
  for (const script of ['cut:', 'cut:', 'say: part\ncut:']) {
    const { body } = await streamed(script);
    let read = '';
    const reading = async () => {
      for await (const chunk of body ?? []) read += Buffer.from(chunk).toString();
    };
    await expect(reading()).rejects.toThrow();
    expect(eventsOf(read).at(-1)?.type).toBe('content_block_delta');
  }
  await expect(post(messages('cut:'))).rejects.toThrow();
});

test('hang: sends the text before it and then nothing, until the client disconnects', async () => {
  const client = new AbortController();
  const { body } = await streamed('say: part\nhang:', { signal: client.signal });
  const reader = body?.getReader();
  expect(textOf(eventsOf(Buffer.from((await reader?.read())?.value ?? []).toString()))).toContain('part');
  const next = reader?.read();
  client.abort();
  await expect(next).rejects.toThrow(/abort/);
});

test('close ends a hanging response', async () => {
  const other = await createScriptedModel();
  const { body } = await fetch(`${other.url}/v1/messages`, {
    method: 'POST',
    body: JSON.stringify({ ...messages('say: part\nhang:'), stream: true }),
  });
  const reader = body?.getReader();
  await reader?.read();
  await Promise.all([expect(reader?.read().then(() => reader.read())).rejects.toThrow(), other.close()]);
});

test('it states that it is not a model', async () => {
  for (const path of ['/', '/healthz']) {
    expect(await (await fetch(model.url + path)).json()).toMatchObject({ isModel: false });
  }
});

test('count_tokens returns about a quarter of the characters', async () => {
  const response = await post(messages('a'.repeat(4000)), {}, '/v1/messages/count_tokens');
  const { input_tokens } = (await response.json()) as { input_tokens: number };
  expect(input_tokens).toBeGreaterThan(1000);
  expect(input_tokens).toBeLessThan(1100);
});

test.for<[what: string, path: string, body: string, status: number, type: string]>([
  ['no JSON', '/v1/messages', '{', 400, 'invalid_request_error'],
  ['no JSON to count', '/v1/messages/count_tokens', '{', 400, 'invalid_request_error'],
  ['no messages', '/v1/messages', '{}', 400, 'invalid_request_error'],
  ['an unknown path', '/v1/other', '{}', 404, 'not_found_error'],
])('%s is refused', async ([, path, body, status, type]) => {
  const response = await fetch(model.url + path, { method: 'POST', body });
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({ type: 'error', error: { type } });
});
