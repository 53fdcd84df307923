/** Many concurrent clients with equal request ids. */
import { randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import { beginSession, type Message, modernCaller, type Wire } from '../mcp-wire.ts';
import { openReplicas } from '../open-replicas.ts';

const clients = 200;
const maxTurns = 50;
/** The same in every request of every client. */
const [id, _meta] = [1, { progressToken: 1 }];
const capabilities = { elicitation: {} };

const called = (text: string) => ({ text, turns: randomInt(maxTurns) });
const textIn = (message: Message | undefined) => message?.result?.content[0].text;

/** All that a client may see: its own echo. */
async function expectOwn(wire: Wire, text: string) {
  const [progress, answer, ...more] = await wire.rest();
  expect([progress?.params?.message, answer?.id, textIn(answer), more]).toEqual([text, id, text, []]);
}

test(`${clients} clients with equal request ids each see their own progress, questions and results`, async () => {
  const gateways = await openReplicas(['A', 'B']);
  const urls = gateways.map(({ url }) => url) as [string, string];

  const oldClient = async (text: string, [here, there]: [string, string]) => {
    const session = await beginSession(here, { capabilities });
    const own = () => session.call(there, 'play__echo', { args: called(text), id, _meta });
    await expectOwn(await own(), text);
    const asking = await session.call(here, 'play__ask', { id, _meta });
    const question = await asking.message();
    const result = { action: 'accept', content: { name: text } };
    expect(await session.say(there, { id: question.id, result })).toBe(202);
    const answer = await asking.message();
    expect([answer.id, JSON.parse(textIn(answer)).who]).toEqual([id, result]);
    await expectOwn(await own(), text);
    // A client that resumes at another gateway gets its own response.
    const stream = await own();
    const first = await stream.next();
    stream.cut();
    await expectOwn(await session.listen(here, first?.id), text);
  };
  const newClient = async (text: string, [here, there]: [string, string]) => {
    const client = modernCaller({ capabilities });
    await expectOwn(await client.call(here, 'play__echo', { args: called(text), _meta }), text);
    const { requestState } = (await (await client.call(here, 'play__ask')).message()).result;
    const inputResponses = { who: { action: 'accept', content: { name: text } } };
    const again = await client.call(there, 'play__ask', { inputResponses, requestState });
    expect(JSON.parse(textIn(await again.message())).who).toEqual(inputResponses.who);
    await expectOwn(await client.call(there, 'play__echo', { args: called(text), _meta }), text);
  };

  await Promise.all(
    Array.from({ length: clients }, (_, n) => {
      const [first, second] = urls;
      const order: [string, string] = n % 4 < 2 ? [first, second] : [second, first];
      return (n % 2 ? newClient : oldClient)(`client ${n}`, order);
    }),
  );
});
