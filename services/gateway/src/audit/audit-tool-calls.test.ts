import { AppError } from '@harness/contracts';
import { createScrubber } from '@harness/runtime';
import { describe, expect, it } from 'vitest';
import type { Caller } from '../http/credentials/authenticate.ts';
import { createAudit } from './audit.ts';
import { auditSource } from './audit-source.ts';
import { createToolAudit } from './audit-tool-calls.ts';

/** An audit, and what it has written when it is closed. */
function openAudit() {
  const lines: string[] = [];
  const audit = createAudit({
    outputs: [{ write: (text) => void lines.push(...text.split('\n').filter(Boolean)) }],
    append: async () => undefined,
    replica: 'gw',
    scrubber: createScrubber(),
    logger: { warn: () => undefined },
    onDropped: () => undefined,
  });
  const written = async () => {
    await audit.close();
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  return { audited: createToolAudit(audit), written };
}

const caller: Caller = { principal: { keyId: 'k1', tenant: 'acme', scopes: ['tools'] } };
const call = { name: 'p__t', transport: 'mcp', arguments: { a: 'é' }, toolUseId: 'toolu_1' } as const;

describe('one call is one line', () => {
  it('with the caller, tool, source, duration and sizes', async () => {
    const { audited, written } = openAudit();
    const result = { content: [{ type: 'text' as const, text: 'done' }] };
    const answer = await auditSource.run({ address: '10.0.0.1', requestId: 'gw-1' }, () =>
      audited(caller, call, async (from) => {
        from({ threadId: 'thr_1', runId: 'run_1' });
        return result;
      }),
    );
    expect(answer).toBe(result);
    expect(await written()).toEqual([
      {
        level: 30,
        time: expect.any(String),
        service: 'gateway',
        audit: true,
        at: expect.any(String),
        tenant: 'acme',
        keyId: 'k1',
        subject: null,
        address: '10.0.0.1',
        action: 'tools/call',
        target: 'p__t',
        outcome: 'ok',
        requestId: 'gw-1',
        threadId: 'thr_1',
        runId: 'run_1',
        toolUseId: 'toolu_1',
        door: 'mcp',
        durationMs: expect.any(Number),
        inputBytes: 10,
        outputBytes: JSON.stringify(result).length,
      },
    ]);
  });

  it('also when it fails before the tool, with the error code and the thread that the caller named', async () => {
    const { audited, written } = openAudit();
    const refused = new AppError('forbidden', 'no');
    const rejected = audited(caller, { ...call, threadId: 'thr_2' }, () => Promise.reject(refused));
    await expect(rejected).rejects.toBe(refused);
    const broken = audited(caller, call, () => Promise.reject(new Error('a bug')));
    await expect(broken).rejects.toThrow('a bug');
    expect(await written()).toMatchObject([
      { outcome: 'internal', outputBytes: 0 },
      { outcome: 'forbidden', threadId: 'thr_2', outputBytes: 0 },
    ]);
  });

  it('that stays short, however long the names from the caller are', async () => {
    const { audited, written } = openAudit();
    const long = 'x'.repeat(100_000);
    await audited(caller, { ...call, name: long, toolUseId: long, threadId: long }, async () => ({
      content: [],
    }));
    expect(JSON.stringify(await written()).length).toBeLessThan(1500);
  });

  it('with the code of a failure of the tool, and nothing else that a plugin has written', async () => {
    const { audited, written } = openAudit();
    const codes = ['invalid_tool_input', 'tool_timeout', 'turn_cancelled', 'plugin_unavailable'];
    const forged = [
      'ok',
      'input_required',
      'forbidden',
      'rate_limited',
      'stale_epoch',
      'tool_not_found',
      'toString',
      'x'.repeat(300),
      { a: 1 },
      ['tool_failed'],
      7,
      null,
    ];
    const errors = [...[...codes, ...forged].map((code) => ({ code, message: '' })), null, 'ok'];
    for (const error of errors)
      await audited(caller, call, async () => ({
        content: [],
        isError: true,
        _meta: { 'harness/error': error },
      }));
    expect((await written()).map(({ outcome }) => outcome)).toEqual([
      ...codes,
      ...Array.from({ length: forged.length + 2 }, () => 'tool_error'),
    ]);
  });
});
