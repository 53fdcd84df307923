import { AppError } from '@harness/contracts';
import { expect, it } from 'vitest';
import { collectTools } from '../host/collect.ts';
import type { ToolMiddleware } from './middleware.ts';
import { createToolServer } from './tool-server.ts';

const meta = { threadId: 't' };

function serverWith(...middleware: ToolMiddleware[]) {
  const echo = {
    name: 'echo',
    description: 'x',
    schema: {},
    handler: (_: unknown, input: object) => JSON.stringify(input),
  };
  const tools = [echo, { ...echo, name: 'other' }];
  const plugin = { name: 'p', version: '1', register: () => undefined, tools };
  const server = createToolServer(collectTools([plugin]), { middleware });
  if (!server) throw new Error('no tools');
  return server;
}

it('runs in order before a call and in reverse order after it', async () => {
  const steps: string[] = [];
  const traced = (name: string): ToolMiddleware => ({
    name,
    beforeCall: async ({ input }) => {
      steps.push(`before ${name} ${JSON.stringify(input)}`);
    },
    afterCall: (_call, outcome) => {
      steps.push(`after ${name}`);
      return outcome;
    },
  });
  const rewriting: ToolMiddleware = {
    name: 'rewriting',
    beforeCall(call) {
      call.input = { n: 2 };
    },
  };
  const result = await serverWith(traced('one'), rewriting, traced('two')).call('p__echo', {
    input: { n: 1 },
    meta,
  });
  expect(steps).toEqual(['before one {"n":1}', 'before two {"n":2}', 'after two', 'after one']);
  expect(result).toMatchObject({ content: [{ text: '{"n":2}' }] });
});

it('an error in beforeCall keeps its code, and the handler does not run', async () => {
  const refusing: ToolMiddleware = {
    name: 'refusing',
    beforeCall() {
      throw new AppError('forbidden', 'Not on Sundays.');
    },
  };
  expect(await serverWith(refusing).call('p__echo', { input: {}, meta })).toMatchObject({
    isError: true,
    _meta: { 'harness/error': { code: 'forbidden', message: 'Not on Sundays.' } },
  });
});

it('a filtered tool is neither listed nor callable; each view is filtered once', async () => {
  let asked = 0;
  const server = serverWith({
    name: 'half',
    filterTools(tools, { scopes }) {
      asked++;
      return scopes ? tools.slice(1) : tools;
    },
  });
  for (let i = 0; i < 3; i++)
    expect(server.list({ scopes: ['tools'] }).map(({ name }) => name)).toEqual(['p__other']);
  expect(asked).toBe(1);
  await expect(
    server.call('p__echo', { input: {}, meta, view: { scopes: ['tools'] } }),
  ).rejects.toMatchObject({
    code: 'forbidden',
  });
  expect(await server.call('p__echo', { input: {}, meta })).toMatchObject({ content: [{ text: '{}' }] });
});
