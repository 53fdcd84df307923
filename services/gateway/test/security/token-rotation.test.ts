/** Gateways with two token secrets: what was made with either is accepted, and names stay. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { bearer, keyFor, tokenSecret as old, openGateway, probe } from '../fixture.ts';
import { modernCaller } from '../mcp-wire.ts';
import { openRun } from '../open-run.ts';
import { createPlay } from '../play-plugin.ts';

const next = 'the next secret, as long as the old one';
const keys = [keyFor('key')];
const open = (tag: string, secrets: string[], plugins = [probe]) =>
  openGateway({ tag, keys, secrets, plugins });

test('thread tokens of both secrets are accepted while both are set, then only those of the new one', async () => {
  const tag = randomUUID();
  const both = await open(tag, [next, old]);
  const after = await open(tag, [next]);
  const { tokenOf } = await openRun(both);
  const statusAt = async (url: string, token: string) => {
    const wire = await modernCaller({ headers: bearer(token) }).call(url, 'probe__whoami');
    return wire.status;
  };
  const tokens = [await tokenOf({}, old), await tokenOf({}, next)];
  expect(await Promise.all(tokens.map((token) => statusAt(both.url, token)))).toEqual([200, 200]);
  expect(await Promise.all(tokens.map((token) => statusAt(after.url, token)))).toEqual([401, 200]);
  const forged = await tokenOf({}, 'a secret that nobody has configured');
  expect(await statusAt(both.url, forged)).toBe(401);
});

test('the state of a call in several rounds, begun before, is continued with either secret', async () => {
  const tag = randomUUID();
  const { plugin } = createPlay('here');
  const before = await open(tag, [old, next], [plugin]);
  const both = await open(tag, [next, old], [plugin]);
  const modern = modernCaller({ headers: bearer('key'), capabilities: { elicitation: {} } });
  for (const [from, to] of [
    [before, both],
    [both, before],
  ] as const) {
    const { requestState } = (await (await modern.call(from.url, 'play__ask')).message()).result;
    const inputResponses = { who: { action: 'accept', content: { name: 'Mary' } } };
    const wire = await modern.call(to.url, 'play__ask', { requestState, inputResponses });
    expect((await wire.message()).result.content[0].text).toContain('Mary');
  }
});

test('the default thread of a key is the same before, during and after a rotation', async () => {
  const tag = randomUUID();
  const threads: string[] = [];
  for (const secrets of [[old], [old, next], [next, old], [next]]) {
    const { call } = await open(tag, secrets);
    const { body } = await call('POST', '/v1/tools/probe__whoami', { body: {}, headers: bearer('key') });
    threads.push(JSON.parse(body.content[0].text).threadId);
  }
  expect(new Set(threads).size).toBe(1);
});
