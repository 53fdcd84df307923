/** MCP 2026-07-28 with every request at a different gateway. */
import { expect, test } from 'vitest';
import { bearer, keyFor } from '../fixture.ts';
import { logLevelKey, type Message, modernCaller } from '../mcp-wire.ts';
import { openReplicas } from '../open-replicas.ts';

const capabilities = { elicitation: {} };
const inputResponses = { who: { action: 'accept', content: { name: 'Ada' } } };
const textIn = ({ result }: Message) => result.content[0].text as string;

test('state that one gateway sealed is opened at another', async () => {
  const [a, b] = await openReplicas(['A', 'B']);
  const client = modernCaller({ capabilities });
  const asked = await (await client.call(a.url, 'play__ask')).message();
  const { resultType, inputRequests, requestState } = asked.result;
  expect(resultType).toBe('input_required');
  expect(inputRequests.who.method).toBe('elicitation/create');
  expect(requestState).not.toContain('askedAt');
  const answer = await (await client.call(b.url, 'play__ask', { inputResponses, requestState })).message();
  expect(JSON.parse(textIn(answer))).toEqual({
    who: inputResponses.who,
    state: { askedAt: 'A' },
    place: 'B',
  });
});

test('state that was tampered with, or given to another caller, method or tool, is refused', async () => {
  const keys = [keyFor('mine'), keyFor('other'), keyFor('foreign', { tenant: 'else' })];
  const [a, b] = await openReplicas(['A', 'B'], { keys });
  const mine = modernCaller({ capabilities, headers: bearer('mine') });
  const asked = await (await mine.call(a.url, 'play__ask')).message();
  const requestState = String(asked.result.requestState);
  const middle = Math.floor(requestState.length / 2);
  const other = requestState[middle] === 'x' ? 'y' : 'x';
  const changed = requestState.slice(0, middle) + other + requestState.slice(middle + 1);
  const more = (state: string) => ({ inputResponses, requestState: state });
  const attempts = {
    changed: mine.call(b.url, 'play__ask', more(changed)),
    cut: mine.call(b.url, 'play__ask', more(requestState.slice(0, -8))),
    empty: mine.call(b.url, 'play__ask', more('')),
    'another tool': mine.call(b.url, 'play__ask-too', more(requestState)),
    'another method': mine.request(b.url, 'prompts/get', {
      params: { name: 'play__ask', ...more(requestState) },
    }),
    'another key': modernCaller({ capabilities, headers: bearer('other') }).call(
      b.url,
      'play__ask',
      more(requestState),
    ),
    'another tenant': modernCaller({ capabilities, headers: bearer('foreign') }).call(
      b.url,
      'play__ask',
      more(requestState),
    ),
  };
  for (const [what, wire] of Object.entries(attempts)) {
    const { error, result } = await (await wire).message();
    expect([what, result, error?.data?.code]).toEqual([what, undefined, 'invalid_request']);
  }
  const right = await (await mine.call(b.url, 'play__ask', more(requestState))).message();
  expect(JSON.parse(textIn(right)).state).toEqual({ askedAt: 'A' });
});

test('a prompt’s state, too, is opened at another gateway, and not for a tool', async () => {
  const [a, b] = await openReplicas(['A', 'B']);
  const client = modernCaller({ capabilities });
  const name = 'play__ask';
  const { result } = await (await client.request(a.url, 'prompts/get', { params: { name } })).message();
  const more = { inputResponses, requestState: result.requestState };
  const got = await (await client.request(b.url, 'prompts/get', { params: { name, ...more } })).message();
  expect(got.result.messages[0].content.text).toBe('{"state":{"askedAt":"A"}}');
  expect((await (await client.call(b.url, name, more)).message()).error.data.code).toBe('invalid_request');
});

test('a subscriber at one gateway is notified of changes at another, but only of those it subscribed to', async () => {
  const [a, b] = await openReplicas(['A', 'B']);
  const client = modernCaller();
  const listen = (notifications: object) =>
    client.request(b.url, 'subscriptions/listen', { params: { notifications }, id: 9 });
  const [tools, one] = [
    await listen({ toolsListChanged: true }),
    await listen({ resourceSubscriptions: ['play://one'] }),
  ];
  for (const stream of [tools, one])
    expect((await stream.message()).method).toBe('notifications/subscriptions/acknowledged');
  await client.call(a.url, 'play__touch', { args: { uri: 'play://two' } });
  await client.call(a.url, 'play__touch', { args: { uri: 'play://one' } });
  await client.call(a.url, 'play__relist');
  expect(await one.message()).toMatchObject({
    method: 'notifications/resources/updated',
    params: { uri: 'play://one', _meta: { 'io.modelcontextprotocol/subscriptionId': 9 } },
  });
  expect((await tools.message()).method).toBe('notifications/tools/list_changed');
});

test('log notifications are sent only on request, from the requested level on', async () => {
  const [a] = await openReplicas(['A']);
  const client = modernCaller();
  const levels = async (level?: string) => {
    const _meta = level === undefined ? {} : { [logLevelKey]: level };
    const messages = await (await client.call(a.url, 'play__chat', { _meta })).rest();
    expect(messages.at(-1)).toMatchObject({ id: 1, result: { content: [{ text: 'said' }] } });
    return messages.slice(0, -1).map(({ params }) => params.level);
  };
  expect(await levels()).toEqual([]);
  expect(await levels('debug')).toEqual(['debug', 'info', 'warning', 'error']);
  expect(await levels('error')).toEqual(['error']);
  expect(await levels('emergency')).toEqual([]);
});

test('a disconnect cancels the call, and the handler is notified', async () => {
  const [a] = await openReplicas(['A']);
  const started = a.play.next('started');
  const leave = new AbortController();
  const call = modernCaller().request(a.url, 'tools/call', {
    params: { name: 'play__hang' },
    signal: leave.signal,
  });
  const left = call.catch((error: Error) => error.name);
  await started;
  const aborted = a.play.next('aborted');
  leave.abort();
  expect(await left).toBe('AbortError');
  expect(await aborted).toMatchObject({ place: 'A' });
});
