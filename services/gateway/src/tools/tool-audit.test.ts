import { AppError } from '@harness/contracts';
import { createLogger } from '@harness/runtime';
import { describe, expect, it } from 'vitest';
import type { Caller } from '../http/authenticate.ts';
import { createToolAudit } from './tool-audit.ts';

/** A real logger and the audit lines that it has written. */
function logged() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  const logger = createLogger('gateway', 'info', { destination: { write } });
  return {
    logger,
    text: () => JSON.stringify(lines),
    records: () => lines.filter(({ audit }) => audit === true),
  };
}

const caller: Caller = { principal: { keyId: 'k1', tenant: 'acme', scopes: ['tools'] } };
const call = { name: 'p__t', door: 'mcp', arguments: { a: 'é' }, toolUseId: 'toolu_1' } as const;

describe('one call is one line', () => {
  it('with the caller, tool, source, duration and sizes', async () => {
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

  it('also when it fails before the tool, with the error code and the thread that the caller named', async () => {
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

  it('that stays short, however long the names from the caller are', async () => {
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
