import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createGatewayClient } from '../gateway-client.ts';
import { createCompleter } from './complete.ts';

const named = (...names: string[]) => names.map((name) => ({ name }));
const answers: Record<string, object> = {
  '/v1/commands': { commands: named('use', 'help', 'status', 'skills', 'tea-time') },
  '/v1/agents': { agents: named('clerk', 'scout') },
  '/v1/skills': { skills: named('tea-time', 'tidy', 'coffee') },
};

async function openCompleter() {
  const server = createServer((request, response) =>
    response.end(JSON.stringify(answers[request.url ?? ''])),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return createCompleter(createGatewayClient(`http://127.0.0.1:${port}`, undefined));
}

test.each([
  ['/us', [['/use '], '/us']],
  ['/s', [['/skills', '/status'], '/s']],
  ['/', [['/files', '/get', '/help', '/put', '/skills', '/status', '/tea-time', '/use'], '/']],
  ['/use t', [['tea-time', 'tidy'], 't']],
  ['/use ', [['coffee', 'tea-time', 'tidy'], '']],
  ['/agent c', [['clerk '], 'c']],
  ['/help st', [['status '], 'st']],
  ['/nothing', [[], '/nothing']],
  ['/model x', [[], '/model x']],
  ['/constructor x', [[], '/constructor x']],
  ['/use tea-time more', [[], '/use tea-time more']],
  ['//us', [[], '//us']],
  ['hello', [[], 'hello']],
])('%j', async (line, completion) => {
  expect(await (await openCompleter())(line)).toEqual(completion);
});

test('without a gateway there are no completions', async () => {
  const complete = createCompleter(createGatewayClient('http://127.0.0.1:1', undefined));
  expect(await complete('/us')).toEqual([[], '/us']);
});
