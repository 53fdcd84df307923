import { createHash } from 'node:crypto';
import { AppError } from '@harness/contracts';
import type { Dispatch } from '@harness/dispatch';
import { createDetachedContext, definePlugin, startPluginHost } from '@harness/plugin-kit';
import { createLogger } from '@harness/runtime';
import { describe, expect, it } from 'vitest';
import { createApp } from './app.ts';
import type { Caller } from './auth.ts';
import { createToolAudit } from './tool-audit.ts';

/** A real logger, and the audit lines that it wrote. */
function logged() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  const logger = createLogger('gateway', 'info', { write });
  return {
    logger,
    text: () => JSON.stringify(lines),
    records: () => lines.filter(({ audit }) => audit === true),
  };
}

const caller: Caller = { principal: { keyId: 'k1', tenant: 'acme', scopes: ['tools'] } };
const call = { name: 'p__t', door: 'mcp', arguments: { a: 'é' }, toolUseId: 'toolu_1' } as const;

describe('one call is one line', () => {
  it('with who, what, from where, how long and how much', async () => {
    const { logger, records } = logged();
    const result = { content: [{ type: 'text' as const, text: 'done' }] };
    const answer = await createToolAudit(logger)(caller, call, async (from) => {
      from({ threadId: 'thr_1', runId: 'run_1' });
      return result;
    });
    expect(answer).toBe(result);
    expect(records()).toEqual([
      {
        level: 30,
        time: expect.any(String),
        service: 'gateway',
        name: 'gateway',
        msg: 'tool call',
        audit: true,
        tool: 'p__t',
        tenant: 'acme',
        keyId: 'k1',
        threadId: 'thr_1',
        runId: 'run_1',
        toolUseId: 'toolu_1',
        door: 'mcp',
        durationMs: expect.any(Number),
        outcome: 'ok',
        inputBytes: 10,
        outputBytes: JSON.stringify(result).length,
      },
    ]);
  });

  it('also when it reaches no tool, with the code and what the caller named', async () => {
    const { logger, records } = logged();
    const refused = new AppError('forbidden', 'no');
    const rejected = createToolAudit(logger)(caller, { ...call, threadId: 'thr_2' }, () =>
      Promise.reject(refused),
    );
    await expect(rejected).rejects.toBe(refused);
    const broken = createToolAudit(logger)(caller, call, () => Promise.reject(new Error('a bug')));
    await expect(broken).rejects.toThrow('a bug');
    expect(records()).toMatchObject([
      { outcome: 'forbidden', threadId: 'thr_2', outputBytes: 0 },
      { outcome: 'internal', outputBytes: 0 },
    ]);
  });

  it('that stays short whatever the caller calls things', async () => {
    const { logger, text } = logged();
    const long = 'x'.repeat(100_000);
    await createToolAudit(logger)(
      caller,
      { ...call, name: long, toolUseId: long, threadId: long },
      async () => ({
        content: [],
      }),
    );
    expect(text().length).toBeLessThan(1500);
  });
});

it('every call through REST and MCP is told, and nothing of what was said', async () => {
  const plugin = definePlugin({
    name: 'p',
    version: '1',
    register: () => undefined,
    tools: [
      { name: 'ok', description: 'x', schema: {}, handler: () => 'a secret answer' },
      { name: 'fails', description: 'x', schema: {}, handler: () => ({ content: [], isError: true }) },
      {
        name: 'throws',
        description: 'x',
        schema: { type: 'object', properties: { n: { type: 'number' } } },
        handler: () => {
          throw new Error('boom');
        },
      },
    ],
  });
  const { logger, records } = logged();
  const app = await createApp({
    dispatch: {} as Dispatch,
    plugins: await startPluginHost({ plugins: [plugin], logger, contextOf: () => createDetachedContext() }),
    logger,
    keys: [
      {
        id: 'key-1',
        keySha256: createHash('sha256').update('the-key').digest('hex'),
        tenant: 'acme',
        scopes: ['tools'],
      },
    ],
    tokenSecret: '',
    allowedHosts: [],
    allowedOrigins: [],
    waitLimitMs: 0,
  });
  const post = (url: string, payload: object) =>
    app.inject({
      method: 'POST',
      url,
      payload,
      headers: {
        authorization: 'Bearer the-key',
        accept: 'application/json, text/event-stream',
        host: 'localhost',
      },
    });
  const mcp = (name: string) =>
    post('/mcp', {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: { my: 'password' } },
    });

  const rest = (name: string, input: object) => post(`/v1/tools/${name}`, { arguments: input });
  await rest('p__ok', { my: 'password' });
  await rest('p__fails', {});
  await rest('p__throws', {});
  await rest('p__throws', { n: 'password' });
  await rest('p__none', {});
  await mcp('p__ok');
  await app.close();

  const from = { tenant: 'acme', keyId: 'key-1' };
  expect(records()).toMatchObject([
    {
      ...from,
      door: 'rest',
      tool: 'p__ok',
      outcome: 'ok',
      inputBytes: 17,
      threadId: expect.stringMatching(/^thr_/),
    },
    { ...from, door: 'rest', tool: 'p__fails', outcome: 'tool_error' },
    { ...from, door: 'rest', tool: 'p__throws', outcome: 'tool_failed' },
    { ...from, door: 'rest', tool: 'p__throws', outcome: 'invalid_tool_input' },
    { ...from, door: 'rest', tool: 'p__none', outcome: 'tool_not_found', outputBytes: 0 },
    { ...from, door: 'mcp', tool: 'p__ok', outcome: 'ok' },
  ]);
  expect(JSON.stringify(records())).not.toMatch(/password|secret answer|boom/);
});
